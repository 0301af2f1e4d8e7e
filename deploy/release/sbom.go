package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
)

// sbom writes which modules the linker put into a program: the program says so itself.
func sbom(program, file string, made time.Time) error {
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	doc := document(filepath.Base(file), info, fmt.Sprintf("%x", sha256.Sum256(content)), made)
	return errors.Join(json.Write(doc, out, json.Indent("  ")), out.Close())
}

func document(name string, info *debug.BuildInfo, sum string, made time.Time) *spdx.Document {
	info.Main.Path = os.Getenv("REPOSITORY") // where a reader finds it
	doc := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: name,
		DocumentNamespace: "https://" + info.Main.Path + "/spdx/" + sum, // unique, as SPDX demands
		CreationInfo:      &spdx.CreationInfo{Created: made.Format(time.RFC3339), Creators: []spdx.Creator{{CreatorType: "Tool", Creator: "contend-release"}}},
	}
	program := component(info.Main)
	program.PackageChecksums = []spdx.Checksum{{Algorithm: common.SHA256, Value: sum}}
	program.PackageLicenseDeclared = "Apache-2.0"
	doc.Packages = []*spdx.Package{program}
	relate(doc, "DOCUMENT", common.TypeRelationshipDescribe, program.PackageSPDXIdentifier)
	library := debug.Module{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")} // as the Go vulnerability database calls it
	for _, module := range append(info.Deps, &library) {
		if r := module.Replace; r != nil && r.Version != "(devel)" { // a folder has the module with a patch: deploy/flags
			module = r
		}
		part := component(*module)
		doc.Packages = append(doc.Packages, part)
		relate(doc, program.PackageSPDXIdentifier, common.TypeRelationshipContains, part.PackageSPDXIdentifier)
	}
	return doc
}

func component(module debug.Module) *spdx.Package {
	id := strings.Map(func(r rune) rune { // letters, digits, points and dashes only
		if r == '-' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '-'
	}, module.Path+"-"+module.Version)
	return &spdx.Package{
		PackageName: module.Path, PackageVersion: module.Version, PackageSPDXIdentifier: spdx.ElementID(id),
		PackageDownloadLocation: "NOASSERTION", PackageLicenseConcluded: "NOASSERTION", PackageLicenseDeclared: "NOASSERTION", PackageCopyrightText: "NOASSERTION",
		PackageExternalReferences: []*spdx.PackageExternalReference{{Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL,
			Locator: "pkg:golang/" + module.Path + "@" + strings.ReplaceAll(module.Version, "+", "%2B")}},
	}
}

func relate(doc *spdx.Document, a spdx.ElementID, how string, b spdx.ElementID) {
	doc.Relationships = append(doc.Relationships, &spdx.Relationship{RefA: common.MakeDocElementID("", string(a)), Relationship: how, RefB: common.MakeDocElementID("", string(b))})
}
