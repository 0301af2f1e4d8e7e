package fleet

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"contend/internal/secret"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol"
	"contend/protocol/wire"
)

// overhear joins a fleet and records its messages: answers to those who asked for a scene, and all
// others.
func overhear(t *testing.T, at Address) (said func() (scenes, others string)) {
	t.Helper()
	conn, err := at.connect(t.Context(), "eavesdropper", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	speaker, err := at.connect(t.Context(), "speaker", nil) // as who speaks does not hear himself
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(speaker.Close)
	var mu sync.Mutex
	var scenes, others strings.Builder
	asking := map[string]bool{} // where answers to questions for a scene go
	const last = "last"
	ended := make(chan struct{})
	if _, err := conn.Subscribe(">", func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		if m.Subject == last {
			close(ended)
		}
		if strings.HasPrefix(m.Subject, coordinatorPrefix) {
			asking[m.Reply] = true
		}
		if asking[m.Subject] {
			scenes.Write(m.Data)
		} else {
			others.Write(m.Data)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	return func() (string, string) {
		_ = speaker.Publish(last, nil)
		select {
		case <-ended: // all that was said before has been recorded
		case <-time.After(testenv.Patience):
			t.Error("the last message was not overheard")
		}
		mu.Lock()
		defer mu.Unlock()
		return scenes.String(), others.String()
	}
}

// Secrets are in the scenes that workers ask for, and in no other message: the server repeats them,
// and one target is wrong.
func TestSecretsAreOnlyInScenes(t *testing.T) {
	t.Parallel()
	const marker = "m4rker-secret"
	var mu sync.Mutex
	var heard, told string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		said := r.Header.Get("X-Api-Key") + " " + string(body)
		heard += said
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, "wrong: "+said)
	}))
	t.Cleanup(server.Close)
	at, book := engine(t), new(secret.Book)
	said := overhear(t, at)
	work(t, at, Host{Name: "w", Hide: book.Hide,
		Opener: func() (protocol.Opener, error) {
			return protocol.Opener{Surroundings: wire.Surroundings{Env: os.LookupEnv, Secrets: book}}, nil
		},
		Say: func(line string) {
			mu.Lock()
			defer mu.Unlock()
			told += line
		}})
	f, workers := gather(t, at, 1)
	target := protocol.At(server.URL).With("method", "POST").With("header", "X-Api-Key: "+marker).With("data", `{"password": "`+marker+`-2"}`)
	r, err := open(t, f, workers, target, 1).Run(t.Context(), load.Plan{VUs: 1, Iterations: 3, Grace: testenv.Patience})
	if err != nil || r.Failed != 3 || len(r.Faults) != 1 || !strings.Contains(r.Faults[0].Example, "wrong: "+secret.Mask) {
		t.Fatalf("%v, %+v", err, r)
	}
	wrong, err := f.Target(target.With("url", "http://127.0.0.1:0/?token="+marker+"-3"), 1, workers)
	if err == nil {
		_, err = load.Open(t.Context(), "wrong", wrong, 1)
	}
	if err == nil || strings.Contains(err.Error(), marker) || !strings.Contains(err.Error(), "token="+secret.Mask) {
		t.Errorf("the mistake is %v", err)
	}
	scenes, others := said()
	mu.Lock()
	defer mu.Unlock()
	if want := marker + ` {"password": "` + marker + `-2"}`; !strings.Contains(heard, want) {
		t.Errorf("the server got %q, not %q", heard, want)
	}
	if !strings.Contains(scenes, marker) || !strings.Contains(others, "wrong: ") {
		t.Error("scenes or results were not overheard")
	}
	if i := strings.Index(others+told, marker); i >= 0 {
		t.Errorf("one is in a message, or in what the worker says: …%q", (others + told)[max(0, i-200):i+len(marker)])
	}
}
