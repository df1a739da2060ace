package launch

import "syscall"

const (
	cloneNewPID  = syscall.CLONE_NEWPID
	cloneNewUser = syscall.CLONE_NEWUSER
)

func mapSelf(id int) []syscall.SysProcIDMap {
	return []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
}
