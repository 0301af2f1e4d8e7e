package fleet

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"contend/internal/lazyregexp"
	"contend/protocol"
	"contend/setting"
)

// pack returns what callers of a target are made of, with the files that it names. Certificates, passwords
// and tokens are not among them: each worker reads its own.
func pack(target protocol.Target) (*scene, error) {
	s := &scene{Target: map[string]setting.Value{}, Paths: map[string][]string{}, Files: map[string][]byte{}}
	var errs []error
	for name, value := range target {
		value.Places, value.Path = nil, "" // their places in a file of the coordinator's
		s.Target[name] = value
		switch name {
		case "data_file", "rows", "requests":
			for i, file := range value.Texts {
				errs = append(errs, s.add(name, path.Join(name, strconv.Itoa(i), filepath.Base(file)), file))
			}
		}
	}
	if len(target["proto"].Texts) > 0 {
		errs = append(errs, s.addProto(target["proto"].Texts, target["import_path"].Texts))
	}
	return s, errors.Join(errs...)
}

// add adds a file under a path, which is that of a setting.
func (s *scene) add(name, path, file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, setting.CannotRead(file, err))
	}
	s.Paths[name] = append(s.Paths[name], path)
	s.Files[path] = content
	return nil
}

// imports finds what a .proto file imports.
var imports = lazyregexp.New(`(?m)^\s*import\s+(?:(?:public|weak|option)\s+)?"([^"]+)"`)

// addProto adds .proto files and all that they import and is found, looked up as protocol/grpc does: in the
// folders or, if there are none, in those that the files are in.
func (s *scene) addProto(files, folders []string) error {
	names := files
	if len(folders) == 0 {
		names = nil
		for _, file := range files {
			folders, names = append(folders, filepath.Dir(file)), append(names, filepath.Base(file))
		}
	}
	s.Target["proto"] = setting.Value{Texts: names}
	for i := range folders {
		s.Paths["import_path"] = append(s.Paths["import_path"], path.Join("import_path", strconv.Itoa(i)))
	}
	for _, name := range names {
		if !s.addImported(name, folders) {
			return fmt.Errorf("proto: there is no file %s in %v", name, folders)
		}
	}
	return nil
}

// addImported adds a file and what it imports, and reports whether the file exists.
func (s *scene) addImported(name string, folders []string) bool {
	for i, folder := range folders {
		to := path.Join("import_path", strconv.Itoa(i), filepath.ToSlash(name))
		if s.Files[to] != nil {
			return true
		}
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			continue
		}
		s.Files[to] = append([]byte{}, content...)
		for _, imported := range imports().FindAllSubmatch(content, -1) {
			s.addImported(string(imported[1]), folders) // those of Google are in the program
		}
		return true
	}
	return false
}

// unpack returns the target, whose files are in a folder.
func (s *scene) unpack(folder string) (protocol.Target, error) {
	target := protocol.Target{}
	maps.Copy(target, s.Target)
	local := func(name string) (string, error) {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return "", fmt.Errorf("the file %q would not be in the folder of the files", name)
		}
		return filepath.Join(folder, filepath.FromSlash(name)), nil
	}
	for name, content := range s.Files {
		file, err := local(name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(file), 0o700)
		}
		if err == nil {
			err = os.WriteFile(file, content, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	for name, paths := range s.Paths {
		var files []string
		for _, p := range paths {
			file, err := local(p)
			if err != nil {
				return nil, err
			}
			files = append(files, file)
		}
		target = target.With(name, files...)
	}
	return target, nil
}
