#include "cli/examples.h"

#include <string>
#include <vector>

namespace cffs::cli {
namespace {

struct CommandExamples {
  const char* command;
  std::vector<const char*> lines;
};

const std::vector<CommandExamples>& all_examples() {
  static const std::vector<CommandExamples> kExamples = {
      {"format",
       {"cffs format /srv/site.cffs", "cffs format --compress=zstd --dedupe /srv/site.cffs",
        "cffs format --backend=region --size=20G /srv/site.image"}},
      {"mount",
       {"cffs mount /srv/site.cffs /mnt/site", "cffs mount --policy=reference /srv/site.cffs /mnt/site",
        "cffs mount -o ro,follow /srv/site.cffs /mnt/mirror   # beside whoever writes to it"}},
      {"umount", {"cffs umount /mnt/site"}},
      {"import",
       {"cffs import /var/www /srv/site.cffs", "cffs import linux-6.1.tar.xz /srv/linux.cffs",
        "cffs import --update --delete --exclude=.git/ --to=docs ~/docs /srv/site.cffs",
        "ssh HOST tar -c -C /var www | cffs import - /srv/site.cffs"}},
      {"export",
       {"cffs export /srv/site.cffs /tmp/copy", "cffs export /srv/site.cffs:docs docs.tar.zst",
        "cffs export /srv/site.cffs - | tar -x -C /tmp/copy"}},
      {"stat", {"cffs stat /mnt/site", "cffs stat --by-directory=2 /srv/site.cffs"}},
      {"fsck", {"cffs fsck /srv/site.cffs", "cffs fsck --repair /srv/site.cffs"}},
      {"scrub", {"cffs scrub /mnt/site", "cffs scrub --rate=0 /srv/site.cffs   # as fast as the disk"}},
      {"backup", {"cffs backup /mnt/site /backup/site.cffs   # again, and only what changed is copied"}},
      {"copy", {"cffs copy /srv/site.cffs rados:POOL/site", "cffs copy rados:POOL/site /srv/site.cffs"}},
      {"salvage", {"cffs salvage /srv/broken.cffs /srv/saved.cffs"}},
      {"compact", {"cffs compact /mnt/site"}},
      {"stats", {"cffs stats /mnt/site", "cffs stats --watch /mnt/site"}},
      {"top", {"cffs top /mnt/site", "cffs top --once --sort=read /mnt/site"}},
      {"dump",
       {"cffs dump /srv/site.cffs | less", "cffs dump --inode=0 /srv/site.cffs   # the root's entries"}},
      {"ls", {"cffs ls /srv/site.cffs", "cffs ls -lh /srv/site.cffs:images"}},
      {"cat", {"cffs cat /srv/site.cffs:index.html"}},
      {"find",
       {"cffs find /srv/site.cffs -name '*.png' -size +100k",
        "cffs find /srv/site.cffs:docs -type d -empty"}},
      {"du", {"cffs du -sh /srv/site.cffs", "cffs du -h -d 1 /srv/site.cffs:images"}},
      {"diff",
       {"cffs diff /srv/site.cffs /var/www", "cffs diff --details --times /srv/site.cffs:docs docs.tar.zst"}},
      {"warm", {"cffs warm /mnt/site", "cffs warm --metadata /mnt/site/images"}},
      {"trace",
       {"cffs trace record -o build.db -- make -j2", "cffs trace import -o site.db access.log",
        "cffs trace stat build.db"}},
      {"bench",
       {"cffs bench list", "cffs bench web-server --rounds=3 --results=r.db",
        "cffs bench programs --disk=hdd"}},
      {"doctor", {"cffs doctor", "sudo -u www-data cffs doctor"}},
      {"advise", {"cffs advise /var/www", "cffs advise --disk=hdd --log=access.log /var/www"}},
      {"analyze",
       {"cffs analyze access.log -o plan.db", "cffs analyze access.log.1.gz access.log -o plan.db"}},
      {"evaluate", {"cffs evaluate access.log --tree=/var/www --disk=hdd"}},
      {"regroup",
       {"cffs regroup --policy=frequency --plan=plan.db /mnt/site", "cffs regroup --compress=zstd /mnt/site",
        "cffs regroup --cancel /mnt/site"}},
      {"replay",
       {"cffs replay access.log --target=/mnt/site --fresh --cold   # in a tree of its own, removed "
        "afterwards"}},
      {"compare",
       {"cffs compare before.db after.db", "cffs compare --baseline=ext4 --html=page.html results.db"}},
      {"list", {"cffs list", "cffs list --json"}},
      {"help", {"cffs help import", "cffs help bench reads", "cffs help full-disk"}},
  };
  return kExamples;
}

}  // namespace

void add_examples(CLI::App& program) {
  for (const CommandExamples& examples : all_examples()) {
    const auto found =
        program.get_subcommands([&](const CLI::App* a) { return a->get_name() == examples.command; });
    if (found.empty()) continue;
    std::string text = found.front()->get_footer();
    if (!text.empty()) text += "\n\n";
    text += examples.lines.size() == 1 ? "Example:" : "Examples:";
    for (const char* const line : examples.lines) text += std::string("\n  ") + line;
    found.front()->footer(text);
  }
}

}  // namespace cffs::cli
