package subject

import (
	"net"
	"strings"
	"testing"

	"contend/internal/testenv"
)

func TestRunAt(t *testing.T) {
	for command, want := range map[string]int{
		"docker run image":                           1,
		"/usr/bin/podman run image":                  1,
		"docker container run image":                 2,
		"docker --context far run image run":         3,
		"docker -H=tcp://h:1 run image":              2,
		"docker -D --log-level debug run image":      4,
		"podman --remote --url ssh://h run i":        4,
		"docker exec web run":                        0,
		"docker -D compose run web":                  0,
		"docker start -a web":                        0,
		"docker":                                     0,
		"docker --context":                           0,
		"./server run":                               0,
		"sh -c docker run":                           0,
		"docker-compose run web":                     0,
		"docker --config /x container --bad run img": 0,
	} {
		if got := runAt(strings.Fields(command)); got != want {
			t.Errorf("%s: %d, want %d", command, got, want)
		}
	}
}

// Only an option of run in front of the image detaches.
func TestDetach(t *testing.T) {
	for words, want := range map[string]string{
		"-d image":                          "-d",
		"--detach image":                    "--detach",
		"--detach=true image":               "--detach=true",
		"--detach=false image":              "",
		"--rm -itd image":                   "-itd",
		"--rm -dp 80:80 image":              "-dp",
		"-p 80:80 --name web -d image":      "-d",
		"-p80:80 --name=web --init -d i":    "-d",
		"--rm -p 80:80 image":               "",
		"--rm image -d":                     "",
		"-it image --detach":                "",
		"-e d -v /d:/d image serve -d":      "",
		"-ed=1 image":                       "",
		"--env-file -d image":               "",
		"-p -d image":                       "",
		"--read-only --privileged -P -d im": "-d",
		"":                                  "",
	} {
		if got := detach(strings.Fields(words)); got != want {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
}

func TestIDFile(t *testing.T) {
	for command, want := range map[string]string{
		"docker run -p {{port}}:80 image":  "docker run --cidfile DIR/container-id -p {{port}}:80 image",
		"docker run --cidfile id image":    "docker run --cidfile id image",
		"podman run --rm --cidfile=/x img": "podman run --rm --cidfile=/x img",
		"./server run":                     "./server run",
	} {
		c := Config{Command: strings.Fields(command), folder: "DIR"}
		if got := strings.Join(c.withIDFile(), " "); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

func TestCheckContainer(t *testing.T) {
	docker, held := strings.Fields("docker run image"), strings.Fields("docker run --cpuset-cpus 2,3 image")
	for _, tt := range []struct {
		cfg  Config
		want string // "": allowed
	}{
		{Config{Command: docker}, ""},
		{Config{Command: docker, Port: 8080}, "port 8080 of a container is bound by its daemon, not by the command: publish a free one, as in -p {{port}}:80"},
		{Config{Command: docker, At: "localhost:8080"}, "port 8080 of a container is bound by its daemon"},
		{Config{Command: strings.Fields("docker run --rm -d image")}, "take -d out of the command, so that it runs in the foreground"},
		{Config{Command: docker, CPUs: []int{2, 3}}, "put --cpuset-cpus 2,3 behind run"},
		{Config{Command: held, CPUs: []int{2, 3}}, ""},
		{Config{Command: []string{"./server"}, Port: 8080, CPUs: []int{2}}, ""},
	} {
		err := tt.cfg.checkContainer()
		if tt.want == "" && err != nil {
			t.Error(err)
		}
		if tt.want != "" {
			testenv.Says(t, err, tt.want)
		}
	}
	_, err := Start(t.Context(), Config{Command: docker, Port: 8080})
	testenv.Says(t, err, "port 8080 of a container")
}

// A published port accepts connections before the server in the container listens.
func TestPublishedPort(t *testing.T) {
	hangUp := func(c net.Conn) { c.Close() } // nobody listens
	for i, answer := range []func(net.Conn){
		hangUp,
		func(c net.Conn) { c.Write([]byte("220 hello")) },
		func(c net.Conn) {}, // that waits for a request
		hangUp,
	} {
		listener := must(net.Listen("tcp", "127.0.0.1:0"))
		defer listener.Close()
		go func() {
			for c, err := listener.Accept(); err == nil; c, err = listener.Accept() {
				answer(c)
				defer c.Close()
			}
		}()
		ask := tcpProbe(listener.Addr().String(), "", i < 3)
		err := ask(t.Context())
		if i == 0 {
			testenv.Eventually(t, "it hangs up in time", func() bool { err = ask(t.Context()); return err != nil })
			testenv.Says(t, err, "published, and nobody listens behind it")
		} else if err != nil {
			t.Errorf("connection %d: %v", i+1, err)
		}
	}
}
