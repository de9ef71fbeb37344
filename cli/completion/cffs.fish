# fish completion for cffs
set -l commands format mount umount advise import export analyze evaluate regroup stat stats top fsck scrub backup copy salvage compact dump ls cat find du diff warm trace replay bench compare list help doctor
complete -c cffs -n "not __fish_seen_subcommand_from $commands" -f -a "$commands"
complete -c cffs -n "__fish_seen_subcommand_from mount import regroup" -l policy -x -a "none directory reference frequency"
complete -c cffs -n "__fish_seen_subcommand_from mount import regroup" -l plan -r
complete -c cffs -n "__fish_seen_subcommand_from mount regroup" -l plan-ahead
complete -c cffs -n "__fish_seen_subcommand_from mount import regroup evaluate" -l site-root -l depth -l shared -x
complete -c cffs -n "__fish_seen_subcommand_from mount" -l regroup-interval -l regroup-budget -l access-record -x
complete -c cffs -n "__fish_seen_subcommand_from analyze evaluate" -l format -l algorithm -l exchange-bytes -l rest-bytes -l table-bytes -l min-support -l min-confidence -l max-size -l max-bytes -l max-itemsets -l stream -l session-gap -l session-max-files -l crawlers -l batch -l below -l prefix -l max-bad -x
complete -c cffs -n "__fish_seen_subcommand_from analyze" -s o -l output -l graph -l transactions -r
complete -c cffs -n "__fish_seen_subcommand_from analyze" -l top -x
complete -c cffs -n "__fish_seen_subcommand_from evaluate" -l tree -r
complete -c cffs -n "__fish_seen_subcommand_from evaluate" -l train -l splits -x
complete -c cffs -n "__fish_seen_subcommand_from analyze evaluate" -l cache -x
complete -c cffs -n "__fish_seen_subcommand_from analyze" -l tune
complete -c cffs -n "__fish_seen_subcommand_from analyze" -l engine -x -a "native spark"
complete -c cffs -n "__fish_seen_subcommand_from analyze" -l master -l spark-conf -x
complete -c cffs -n "__fish_seen_subcommand_from analyze" -l spark -l spark-log -r
complete -c cffs -n "__fish_seen_subcommand_from evaluate" -l cold
complete -c cffs -n "__fish_seen_subcommand_from advise analyze evaluate" -l disk -x -a "hdd cloud ssd this"
complete -c cffs -n "__fish_seen_subcommand_from analyze evaluate" -l disk-at -r
complete -c cffs -n "__fish_seen_subcommand_from analyze evaluate" -l reading -x -a "group mount"
complete -c cffs -n "__fish_seen_subcommand_from regroup" -l dry-run
complete -c cffs -n "__fish_seen_subcommand_from regroup" -l cancel
complete -c cffs -n "__fish_seen_subcommand_from help" -f -a "stores policies mounting full-disk damage exit-status"
complete -c cffs -n "__fish_seen_subcommand_from format" -l inline-max -l composite-file-max -l composite-max -x
complete -c cffs -n "__fish_seen_subcommand_from format regroup" -l compress -x -a "none lz4 zstd"
complete -c cffs -n "__fish_seen_subcommand_from format" -l dedupe
complete -c cffs -n "__fish_seen_subcommand_from regroup" -l dedupe -x -a "on off"
complete -c cffs -n "__fish_seen_subcommand_from format" -l blob-checksums -x -a "on off"
complete -c cffs -n "__fish_seen_subcommand_from format" -l backend -x -a "posix region rados"
complete -c cffs -n "__fish_seen_subcommand_from format" -l size -x
complete -c cffs -n "__fish_seen_subcommand_from format" -l region-size -x
complete -c cffs -n "__fish_seen_subcommand_from format" -l large-block -x
complete -c cffs -n "__fish_seen_subcommand_from format" -l pool -x
complete -c cffs -n "__fish_seen_subcommand_from format" -l namespace -x
complete -c cffs -n "__fish_seen_subcommand_from format" -l conf -r
complete -c cffs -n "__fish_seen_subcommand_from format" -l id -x
complete -c cffs -n "__fish_seen_subcommand_from format" -l force
complete -c cffs -n "__fish_seen_subcommand_from scrub" -l anew
complete -c cffs -n "__fish_seen_subcommand_from scrub backup" -l stop -l status
complete -c cffs -n "__fish_seen_subcommand_from scrub backup" -l rate -x
complete -c cffs -n "__fish_seen_subcommand_from mount" -l commit-interval -l quiet -l cache-size -l local-cache -l awake-inodes -l known-inodes -l threads -l metrics -x
complete -c cffs -n "__fish_seen_subcommand_from mount" -l transport -x -a "auto ring device"
complete -c cffs -n "__fish_seen_subcommand_from mount" -l follow
complete -c cffs -n "__fish_seen_subcommand_from mount" -l keep -x
complete -c cffs -n "__fish_seen_subcommand_from mount" -l standby
complete -c cffs -n "__fish_seen_subcommand_from mount" -s f -l foreground
complete -c cffs -n "__fish_seen_subcommand_from umount" -l force
complete -c cffs -n "__fish_seen_subcommand_from advise import" -l jobs -x
complete -c cffs -n "__fish_seen_subcommand_from advise" -l log -l html -r
complete -c cffs -n "__fish_seen_subcommand_from advise" -l sample -l seed -x
complete -c cffs -n "__fish_seen_subcommand_from advise" -l other-devices
complete -c cffs -n "__fish_seen_subcommand_from advise stat stats top scrub backup trace replay compare analyze evaluate regroup doctor" -l json
complete -c cffs -n "__fish_seen_subcommand_from stat" -l by-directory -d "what directories hold and take"
complete -c cffs -n "__fish_seen_subcommand_from stats" -l table-log -d "LevelDB's own log"
complete -c cffs -n "__fish_seen_subcommand_from stats" -l watch -d "what is new, again and again"
complete -c cffs -n "__fish_seen_subcommand_from top" -l interval -l lines -x
complete -c cffs -n "__fish_seen_subcommand_from top" -l sort -x -a "requests time read written errors"
complete -c cffs -n "__fish_seen_subcommand_from top" -l once
complete -c cffs -n "__fish_seen_subcommand_from dump" -l hex
complete -c cffs -n "__fish_seen_subcommand_from ls" -l json -l all -l almost-all -l recursive -l directory -l human-readable -l numeric-uid-gid -l inode -l reverse
complete -c cffs -n "__fish_seen_subcommand_from find" -o name -o iname -o path -o ipath -o type -o size -o mtime -o mmin -o newer -o perm -o user -o group -o maxdepth -o mindepth -x
complete -c cffs -n "__fish_seen_subcommand_from find" -o empty -o prune -o quit -o print -o print0
complete -c cffs -n "__fish_seen_subcommand_from du" -l summarize -l human-readable -l all -l total -l apparent-size -l bytes
complete -c cffs -n "__fish_seen_subcommand_from du" -l max-depth -x
complete -c cffs -n "__fish_seen_subcommand_from diff" -l times -l no-owner -l no-mode -l no-xattrs -l no-content -l details -l quiet
complete -c cffs -n "__fish_seen_subcommand_from warm" -l metadata -l quiet
complete -c cffs -n "__fish_seen_subcommand_from warm" -l memory -l jobs -x
complete -c cffs -n "__fish_seen_subcommand_from ls cat find du diff warm" -l foreign-owner
complete -c cffs -n "__fish_seen_subcommand_from dump" -l inode -l composite -x
complete -c cffs -n "__fish_seen_subcommand_from mount" -l record -r
complete -c cffs -n "__fish_seen_subcommand_from trace" -a "import record show stat slice"
complete -c cffs -n "__fish_seen_subcommand_from trace" -s o -l output -l initial -r
complete -c cffs -n "__fish_seen_subcommand_from trace replay" -l format -l below -x
complete -c cffs -n "__fish_seen_subcommand_from trace" -l from -l to -l first -l last -l limit -x
complete -c cffs -n "__fish_seen_subcommand_from replay" -l target -l library -l results -l initial -r
complete -c cffs -n "__fish_seen_subcommand_from replay" -l make-tree -l cold -l fresh -l predict
complete -c cffs -n "__fish_seen_subcommand_from replay" -l hosts -l min-files -l threads -l think -l longest-idle -l before -l warm-up -l max-surprises -l rounds -l name -x
complete -c cffs -n "__fish_seen_subcommand_from replay" -l cache -x -a "as-is cold warm"
complete -c cffs -n "__fish_seen_subcommand_from replay" -l check -x -a "content size none"
complete -c cffs -n "__fish_seen_subcommand_from bench" -a "create metadata large-directory small-files desktop-metadata grid-small-files readdir fdtree postmark web-server development obfs-micro obfs-1 obfs-2 source-tree programs reads growth old-disk paper list passthrough floor disk"
complete -c cffs -n "__fish_seen_subcommand_from bench" -l disk -x -a "raw cloud hdd"
complete -c cffs -n "__fish_seen_subcommand_from bench" -l targets -l image-size -l memory -l aged -l rounds -l seed -x
complete -c cffs -n "__fish_seen_subcommand_from bench" -l results -l work -r
complete -c cffs -n "__fish_seen_subcommand_from bench" -l sync -l mount-sync -l tiny -l paper -l all -l report-only
complete -c cffs -n "__fish_seen_subcommand_from bench" -l site -l markdown -l html -l plot -r
complete -c cffs -n "__fish_seen_subcommand_from compare" -l baseline -l benchmark -x
complete -c cffs -n "__fish_seen_subcommand_from compare" -l plot -l html -r
complete -c cffs -n "__fish_seen_subcommand_from import" -l to -x
complete -c cffs -n "__fish_seen_subcommand_from import export" -l exclude -x
complete -c cffs -n "__fish_seen_subcommand_from import export" -l update -l checksum -l delete -l quiet
complete -c cffs -n "__fish_seen_subcommand_from regroup compact fsck scrub backup copy salvage advise analyze evaluate replay compare bench" -l quiet -d "show no progress"
complete -c cffs -n "__fish_seen_subcommand_from bench" -l resume -d "leave out what the results have"
