// Package state keeps on disk what approvals and suspensions need to outlive the
// host: the keys that seal suspensions, the ledger of suspensions that were used,
// the list of calls that wait for an answer, and the manifests that were accepted.
//
//	key              the sealing keys, newest first, in hexadecimal
//	clock            the highest time seen (T30)
//	lock             held while anything here is read or written
//	spent/<hash>     one record for each suspension that was decided
//	pending/<hash>   one file for each call that waits
//	accepted/<hash>  one record for each manifest that a person accepted (T16)
//
// Everything is made 0700 or 0600, and is refused if it belongs to another user
// or if others have access to it. A symbolic link that leads out of the directory
// is not followed. Ids never become file names, their SHA-256 does (T43). What a
// function reports as written is on the disk, and no file is ever seen half
// written, except the record of a host that died while it spent a suspension:
// such a suspension counts as spent.
//
// None of this stops another program of the same user.
package state
