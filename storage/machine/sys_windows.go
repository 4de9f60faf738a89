package machine

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// mapFile maps the first size bytes of f into memory that other processes share.
func mapFile(f *os.File, size int) ([]byte, error) {
	mapping, err := windows.CreateFileMapping(windows.Handle(f.Fd()), nil, windows.PAGE_READWRITE, 0, uint32(size), nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateFileMapping", err)
	}
	at, err := windows.MapViewOfFile(mapping, windows.FILE_MAP_READ|windows.FILE_MAP_WRITE, 0, 0, uintptr(size))
	// The mapping exists as long as this view of it, so its handle can be closed.
	if err := errors.Join(os.NewSyscallError("MapViewOfFile", err), os.NewSyscallError("CloseHandle", windows.CloseHandle(mapping))); err != nil {
		return nil, err
	}
	// The conversion goes through a pointer to at, because go vet forbids to convert a number to a
	// pointer. It is safe: the memory does not belong to Go, and never moves.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), size), nil
}

func unmapFile(mem []byte) error {
	return os.NewSyscallError("UnmapViewOfFile", windows.UnmapViewOfFile(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))))
}
