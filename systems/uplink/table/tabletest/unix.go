//go:build unix

package tabletest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// programs returns the folder of PostgreSQL's programs, which Debian keeps off the PATH.
func programs() (string, error) {
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
		if len(found) == 0 {
			return "", fmt.Errorf("PostgreSQL is not installed: %w", err)
		}
		initdb = found[len(found)-1]
	}
	if real, err := filepath.EvalSymlinks(initdb); err == nil { // the others are in its folder
		initdb = real
	}
	return filepath.Dir(initdb), nil
}

// unprivileged has the programs run as another user where we are root.
func (s *Server) unprivileged() error {
	if os.Getuid() != 0 {
		return nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, _ := strconv.Atoi(account.Uid)
	gid, _ := strconv.Atoi(account.Gid)
	s.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return os.Chown(s.dir, uid, gid)
}
