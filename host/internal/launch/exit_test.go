package launch

import (
	"strings"
	"testing"
)

// P1: on macOS, and only there, a SIGKILL before the first word is explained. What other systems say of an early end
// is in TestL2_CauseOfAnEarlyEnd and TestL3_KilledByTheSystem, with real processes.
func TestP1_KilledBeforeTheFirstWord(t *testing.T) {
	killed := Exit{Exited: true, Status: -1, Signal: "SIGKILL", Cause: CauseMemory, PeakRSS: 3 << 20}
	limited := killed
	limited.Limit = "memory limit of 1 MiB"
	aborted := Exit{Exited: true, Status: -1, Signal: "SIGABRT", Cause: CauseSignal}
	noLibrary := Exit{Exited: true, Status: -1, Cause: CauseExited}
	if status := int64(statusDLLNotFound); int64(int(status)) == status { // not with 32 bits
		noLibrary.Status = int(status)
	}
	for name, tt := range map[string]struct {
		exit   Exit
		goos   string
		silent bool
		cause  Cause
		says   string
	}{
		"signature":           {killed, "darwin", true, CauseSignature, "code signature does not fit the file"},
		"how to mend it":      {killed, "darwin", true, CauseSignature, "put a new file in its place by a rename, or sign it again: codesign --force --sign - FILE"},
		"it had spoken":       {killed, "darwin", false, CauseMemory, "ended by SIGKILL, probably out of memory; peak 3 MiB"},
		"a limit":             {limited, "darwin", true, CauseMemory, "it exceeded its memory limit of 1 MiB"},
		"another signal":      {aborted, "darwin", true, CauseSignal, "ended by SIGABRT before it was ready"},
		"Linux":               {killed, "linux", true, CauseMemory, "probably out of memory"},
		"Windows":             {noLibrary, "windows", true, CauseInterpreter, "a library is missing (exit status "},
		"that status, not it": {noLibrary, "linux", true, CauseExited, "exit status "},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "Windows" && noLibrary.Status == -1 {
				t.Skip("this status needs 64 bits")
			}
			cause, err := tt.exit.early(tt.goos, tt.silent)
			if cause != tt.cause || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: %v", cause, err)
			}
		})
	}
}
