// Package state keeps on disk what must outlive the host: the keys that seal
// suspensions, the ledger of suspensions that were used, the calls that wait for an
// answer, what was accepted, trusted and quarantined; what hosts tell each other;
// and what saves work: private copies of programs and the index of what is known.
//
//	key              the sealing keys, newest first, in hexadecimal
//	clock            the highest time seen (T30)
//	lock             held while anything here is read or written
//	spent/<hash>     one record for each suspension that was decided
//	pending/<hash>   one file for each call that waits
//	accepted/<hash>  one record for each manifest that a person accepted (T16)
//	baseline/<hash>  for each plugin, what it defined when that was last accepted (T19)
//	trusted/<hash>   one record for each directory that a person accepted (T51)
//	quarantine/<hash> one record for each plugin that is not to be started
//	binaries/<sha256> private copies of programs, locked by who uses them (S7)
//	hosts/<random>   one file for each host that lives, locked by it (K13)
//	index            what is known of files and plugins: a cache (D5, D7)
//
// Everything is made 0700 or 0600, and is refused if it belongs to another user
// or if others have access to it. A symbolic link that leads out of the directory
// is not followed. Ids never become file names, their SHA-256 does (T43). What a
// function reports as written is on the disk, except binaries, hosts and index,
// which are checked when they are read. No file is ever seen half written, except
// the record of a host that died while it spent a suspension: such a suspension
// counts as spent.
//
// None of this stops another program of the same user.
package state
