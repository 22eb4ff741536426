package proc

import (
	"bytes"
	"encoding/binary"
)

// procArgs is what macOS returns for kern.procargs2: the argument count, the
// path of the program, padding, the arguments, the environment.
type procArgs struct {
	exe     string
	args    []string
	environ []string
}

// parseProcArgs reads a kern.procargs2 buffer (macOS: sysctl.h, KERN_PROCARGS2).
// It lives in a portable file so that it is tested wherever the tests run.
func parseProcArgs(data []byte) (procArgs, bool) {
	if len(data) < 4 {
		return procArgs{}, false
	}
	argc := int(int32(binary.LittleEndian.Uint32(data))) // both macOS architectures
	data = data[4:]
	end := bytes.IndexByte(data, 0)
	if end < 0 || argc < 0 {
		return procArgs{}, false
	}
	p := procArgs{exe: string(data[:end])}
	data = bytes.TrimLeft(data[end:], "\x00")
	for {
		end := bytes.IndexByte(data, 0)
		if end < 0 {
			return p, len(p.args) == argc
		}
		word := string(data[:end])
		data = data[end+1:]
		switch {
		case len(p.args) < argc:
			p.args = append(p.args, word)
		case word == "":
			return p, true // the environment ends with an empty string
		default:
			p.environ = append(p.environ, word)
		}
	}
}
