#include "cli/help_topics.h"

namespace cffs::cli {

const std::vector<HelpTopic>& help_topics() {
  static const std::vector<HelpTopic> kTopics = {
      {"stores", "What a store is, and where it can lie",
       R"(A store is what cffs format made: a directory, an image file or a block device
(--backend=region), or objects of a Ceph pool (rados:POOL/NAME). It holds all names
and attributes in one LevelDB table, small files as members of composites (files of
a few MiB), and large files as blobs (one file each).

  cffs format STORE           a new one
  cffs import DIR STORE       the fast way in; into a mount, too
  cffs mount STORE MNT        as ordinary files
  cffs stat STORE|MNT         what is in it
  cffs export STORE DEST      all of it out again

Do not change what lies in a store's directory by hand. To move a store, unmount it
and use cffs copy, or copy the directory as it is.
)"},
      {"policies", "Which small files are kept together",
       R"(  directory    files of one directory: for backups, builds, searches (the default)
  reference    a page with what it embeds: for web roots of HTML
  frequency    what was used together, by a plan mined from access logs or from the
               mount's own accesses: cffs analyze LOG -o PLAN.db
  none         no groups; small files stay in the table (TableFS)

  cffs advise DIR                            which suits a tree
  cffs evaluate LOG --tree=DIR --disk=hdd    which would win on a log
  cffs mount --policy=P STORE MNT            what is written from now on
  cffs regroup --policy=P STORE|MNT          and what is there already
)"},
      {"mounting", "Mounts, fstab, other users, mounts whose daemon is gone",
       R"(  cffs mount STORE MNT        returns when the mount answers; a daemon serves it
  cffs list                   this machine's mounts and their stores
  cffs umount MNT             returns when everything is on the medium

In fstab(5):   STORE MNT cffs defaults 0 0
Root's mounts are for all users; others need -o allow_other, and user_allow_other in
/etc/fuse.conf. Permissions and ACLs are enforced by the kernel.

Where the daemon was killed, everything on the mount says "Transport endpoint is not
connected". Then:   cffs umount MNT && cffs mount STORE MNT
What was acknowledged before the last commit (5 s, --commit-interval), or by fsync, is
there. Readers beside a writer: cffs mount -o ro,follow STORE MNT.
)"},
      {"full-disk", "When the disk below a store is full",
       R"(Writes fail with ENOSPC, as on any file system; nothing that was acknowledged is
lost, and removing works: a store keeps a reserve for it. What was removed is free
with the next commit; composites that became half empty are rewritten when there is
room, at once by cffs compact STORE|MNT.

  cffs stat STORE|MNT                    what takes how much, and what is free
  cffs regroup --compress=zstd STORE     the same files in less room
  cffs regroup --dedupe=on STORE         equal files once
  cffs copy STORE PLACE                  to a larger disk
)"},
      {"damage", "Checks, backups, and what to do when something is broken",
       R"(  cffs scrub MNT|STORE        reads everything, names each file that is damaged
  cffs fsck STORE             checks a store that is not mounted; --repair mends
  cffs backup MNT|STORE DEST  a store of one moment, while the mount is in use
  cffs salvage STORE NEW      where the table or the superblock is gone

A damaged member is an I/O error for whoever reads it, never wrong bytes. Keep the
broken store until you have compared what came of it.
)"},
      {"exit-status", "What commands end with",
       R"(  0    done
  1    it failed; one sentence on standard error says why
  2    the command line was not understood
  130  Ctrl-C (SIGTERM: 143, SIGHUP: 129)

  fsck       0 clean, 1 all of it is mended, 4 problems are left, 8 it could not run
  scrub      0 nothing is damaged, 4 something is, 8 it could not run, or was
             stopped before its end; so does backup
  salvage    0 all that was found is back, 4 some is not, 1 it could not run
  diff       0 the same, 1 different, 2 it could not be told
  doctor     0 nothing lacks, 1 something could be better, 4 nothing can be mounted
)"},
  };
  return kTopics;
}

}  // namespace cffs::cli
