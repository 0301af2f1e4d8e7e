package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// images writes one index of an image for each program.
func images(folder string, programs []string, made time.Time) error {
	stage, err := lastStage("deploy/Dockerfile")
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, program := range programs {
		image, platform, err := image(stage, program, made)
		if err != nil {
			return fmt.Errorf("%s: %w", program, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	return written.AppendIndex(index)
}

func lastStage(file string) (last instructions.Stage, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return last, err
	}
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		return last, err
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		return last, err
	}
	return stages[len(stages)-1], nil
}

func image(stage instructions.Stage, program string, made time.Time) (v1.Image, *v1.Platform, error) {
	file, err := elf.Open(program)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	platform := &v1.Platform{OS: "linux", Architecture: map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}[file.Machine]}
	config := v1.ConfigFile{OS: platform.OS, Architecture: platform.Architecture, Created: v1.Time{Time: made}, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{Env: []string{"PATH=/"}, Labels: map[string]string{}, ExposedPorts: map[string]struct{}{}}}
	files := map[string][]byte{}
	for _, command := range stage.Commands {
		if err := obey(command, &config.Config, files, program); err != nil {
			return nil, nil, err
		}
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return packed(files, made) }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, nil, err
	}
	image, err := mutate.ConfigFile(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), &config)
	if err != nil {
		return nil, nil, err
	}
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: made}}})
	return image, platform, err
}

// obey does what a line of the Dockerfile says.
func obey(command instructions.Command, config *v1.Config, files map[string][]byte, program string) error {
	switch c := command.(type) {
	case *instructions.LabelCommand:
		for _, label := range c.Labels {
			config.Labels[strings.Trim(label.Key, `"`)] = strings.Trim(label.Value, `"`)
		}
	case *instructions.CopyCommand:
		for _, source := range c.SourcePaths {
			name := c.DestPath
			if strings.HasSuffix(name, "/") {
				name = path.Join(name, path.Base(source))
			}
			content, err := copied(c.From, source, program)
			if err != nil {
				return err
			}
			files[strings.TrimPrefix(name, "/")] = content
		}
	case *instructions.UserCommand:
		config.User = c.User
	case *instructions.ExposeCommand:
		for _, port := range c.Ports {
			config.ExposedPorts[port+"/tcp"] = struct{}{}
		}
	case *instructions.HealthCheckCommand:
		config.Healthcheck = &v1.HealthConfig{Test: c.Health.Test, Interval: c.Health.Interval, Timeout: c.Health.Timeout, StartPeriod: c.Health.StartPeriod}
	case *instructions.EntrypointCommand:
		config.Entrypoint = c.CmdLine
	case *instructions.CmdCommand:
		config.Cmd = c.CmdLine
	default:
		return fmt.Errorf("the image is made without an engine, which knows no %s", command.Name())
	}
	return nil
}

// copied is the content of a file: of the repository, or of the stage in which the program is built.
func copied(stage, source, program string) ([]byte, error) {
	switch {
	case stage == "":
		return os.ReadFile(source)
	case path.Base(source) == "contend":
		return os.ReadFile(program)
	case path.Base(source) == "ca-certificates.crt": // of a version that deploy/go.mod names
		var trusted bytes.Buffer
		for root := range bundle.Roots() {
			if root.Constraint == nil { // which a file in PEM form could not say
				_ = pem.Encode(&trusted, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
			}
		}
		return trusted.Bytes(), nil
	default:
		return nil, fmt.Errorf("COPY --from=%s %s: neither the program nor the certificates", stage, source)
	}
}

// packed is a layer of the files and their folders.
func packed(files map[string][]byte, made time.Time) (io.ReadCloser, error) {
	folders := map[string]bool{}
	for name := range files {
		for folder := filepath.Dir(name); folder != "."; folder = filepath.Dir(folder) {
			folders[folder+"/"] = true
		}
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		errs = append(errs, w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755, ModTime: made}))
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name])), ModTime: made}
		if name == "contend" {
			header.Mode = 0o755
		}
		errs = append(errs, w.WriteHeader(header))
		_, err := w.Write(files[name])
		errs = append(errs, err)
	}
	return io.NopCloser(&layer), errors.Join(append(errs, w.Close())...)
}
