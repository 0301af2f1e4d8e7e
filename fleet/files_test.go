package fleet

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/load"
	"contend/protocol"
	"contend/setting"
)

// write writes files below a folder of the test.
func write(t *testing.T, files map[string]string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, content := range files {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		testenv.Write(t, file, content)
	}
	return folder
}

// The files that a target names are on the other side, under names that its own rules find, and nothing else is.
func TestFilesAreSent(t *testing.T) {
	t.Parallel()
	from := write(t, map[string]string{
		"rows.csv": "id\n1\n", "list.json": "[]", "key.pem": "secret",
		"api/v1/a.proto": "syntax = \"proto3\";\nimport \"v1/b.proto\";\nimport public \"google/protobuf/any.proto\";\n",
		"api/v1/b.proto": "import \"v1/a.proto\"; // in a circle", "api/v1/other.proto": "",
	})
	at := func(name string) string { return filepath.Join(from, name) }
	for name, tt := range map[string]struct {
		target protocol.Target
		want   []string
	}{
		"none":        {protocol.At("http://x/").With("key_file", at("key.pem")), nil},
		"some":        {protocol.At("http://x/").With("rows", at("rows.csv")).With("requests", at("list.json")), []string{"requests/0/list.json", "rows/0/rows.csv"}},
		"in a folder": {protocol.At("grpc://x/a").With("proto", "v1/a.proto").With("import_path", at("api")), []string{"import_path/0/v1/a.proto", "import_path/0/v1/b.proto"}},
		"by itself":   {protocol.At("grpc://x/a").With("proto", at("api/v1/other.proto")), []string{"import_path/0/other.proto"}},
	} {
		s, err := pack(tt.target)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(s.Files) != len(tt.want) {
			t.Errorf("%s: %d files, want %v", name, len(s.Files), tt.want)
		}
		folder := t.TempDir()
		target, err := s.unpack(folder)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, file := range tt.want {
			if _, err := os.Stat(filepath.Join(folder, file)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if file := target.Get("rows"); file != "" && file != filepath.Join(folder, "rows/0/rows.csv") {
			t.Errorf("rows are %s", file)
		}
	}
	for _, name := range []string{"rows", "proto"} {
		if _, err := pack(protocol.At("x://").With(name, at("nowhere"))); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want what is missing of %s", err, name)
		}
	}
	inline := setting.Value{Items: []setting.Values{{"path": {Texts: []string{"/x"}}}}}
	if s, err := pack(protocol.Target{"requests": inline}); err != nil || len(s.Target["requests"].Items) != 1 {
		t.Errorf("requests of an experiment file: %+v, %v", s, err)
	}
}

// A coordinator cannot write outside of the folder of a session.
func TestFilesStayInTheirFolder(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../x", "/etc/x", "a/../../x", ""} {
		for _, s := range []scene{{Files: map[string][]byte{name: nil}}, {Paths: map[string][]string{"rows": {name}}}} {
			if _, err := s.unpack(t.TempDir()); err == nil || !strings.Contains(err.Error(), "would not be in the folder") {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
}

// A file of several messages reaches a worker, also where it is more than one may hold.
func TestLargeFile(t *testing.T) {
	t.Parallel()
	at, server := engine(t), serve(t)
	work(t, at, Host{Name: "a"})
	f, workers := gather(t, at, 1)
	var rows bytes.Buffer
	rows.WriteString("id,padding\n")
	padding := strings.Repeat("x", 1000)
	for i := range 3000 {
		fmt.Fprintf(&rows, "r%d,%s\n", i, padding)
	}
	folder := write(t, map[string]string{"rows.csv": rows.String(), "large.csv": strings.Repeat("x", mostContent/4*3)}) // in base64 as much as is allowed
	session := open(t, f, workers, protocol.At(server.URL+"/?row={{id}}").With("rows", filepath.Join(folder, "rows.csv")), 1)
	if r, err := session.Run(t.Context(), load.Plan{VUs: 1, Iterations: 3, Grace: testenv.Patience}); err != nil || r.Completed != 3 || len(server.rows) != 3 {
		t.Errorf("%+v, %v, rows %v", r, err, server.rows)
	}
	if _, err := f.Target(protocol.At(server.URL).With("rows", filepath.Join(folder, "large.csv")), 1, workers); err == nil || !strings.Contains(err.Error(), "expected at most 67108864") {
		t.Errorf("%v, want how much is allowed", err)
	}
}

// Pieces in their order are what was sent; whatever else comes is refused, and takes no more memory than it has bytes.
func FuzzCollect(f *testing.F) {
	f.Add([]byte("some content"), 5, 0)
	f.Add([]byte{}, 0, 1)
	f.Fuzz(func(t *testing.T, content []byte, first, lie int) {
		first = min(max(first, 0), len(content))
		p := parcelOf(content)
		got, err := p.collect(bytes.Clone(content[:first]), func(offset int) ([]byte, error) { return pieceAt(content, offset), nil })
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%q, %v", got, err)
		}
		p.Size += lie
		if got, err := p.collect(bytes.Clone(content[:first]), func(offset int) ([]byte, error) { return pieceAt(content, offset), nil }); lie != 0 && err == nil {
			t.Errorf("%q of a parcel that says %d bytes", got, p.Size)
		}
	})
}

// Builds that differ refuse each other: by the form of their histograms before anything is asked, and by a plan, or by what
// callers are made of, that one of them does not know all of.
func TestBuildsThatDiffer(t *testing.T) {
	t.Parallel()
	at, server := engine(t), serve(t)
	work(t, at, Host{Name: "a"})
	f, workers := gather(t, at, 1)
	remote, err := (&Target{f, workers, &scene{Target: map[string]setting.Value{"url": {Texts: []string{server.URL}}}}}).OpenRemote(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	d := remote.(*drive)
	defer d.Close()
	ask := func(o *order) error {
		_, err := f.ask(t.Context(), workers[0].ID, o)
		return err
	}
	if err := ask(&order{Session: d.session, Number: 2, Drive: &driving{Plan: []byte(`{"vus":1,"iterations":1,"grace_ns":0,"newer":true}`)}}); err == nil || !strings.Contains(err.Error(), "different builds") {
		t.Errorf("a plan: %v", err)
	}
	content := []byte(`{"target":{},"vus":1,"seed":0,"newer":true}`)
	own := f.begin("another", content)
	defer f.finish("another")
	if err := ask(&order{Session: "another", Number: 1, Open: &own}); err == nil || !strings.Contains(err.Error(), "different builds") {
		t.Errorf("callers: %v", err)
	}
	for _, w := range []Worker{{ID: "x", Name: "x", Version: "v1", Form: "0.0"}, {ID: "y", Name: "y", Version: "v1"}} {
		if why := f.foreign(w); !strings.Contains(why, "sends histograms of another form") {
			t.Errorf("%+v: %q", w, why)
		}
	}
}
