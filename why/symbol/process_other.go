//go:build !linux

package symbol

import (
	"errors"
	"os"

	"contend/internal/perf"
)

func openMapped(perf.Map) (*os.File, error) { return nil, errors.ErrUnsupported }

func openMemory(int) (*os.File, error) { return nil, errors.ErrUnsupported }

func openDebug(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }

func openScript(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }

func programOf(int) string { return "" }

func identify(*os.File) (fileID, error) { return fileID{}, errors.ErrUnsupported }

func readCompiled(int) *names { return nil }

func readKernel() *names { return nil }
