package load

import "context"

// A RemoteTarget is driven by generators on other machines, without VUs in this process.
type RemoteTarget interface {
	Target
	// OpenRemote makes the VUs where they are.
	OpenRemote(ctx context.Context, vus int) (Remote, error)
}

// A Remote is a Session on other machines. One goroutine at a time uses it.
type Remote interface {
	// Run is Session.Run. It calls the functions of the plan but Sample and ServerCPU.
	Run(ctx context.Context, plan Plan) (*Result, error)
	Close() error
}
