# fish completion for cffs
set -l commands format mount umount import export stat fsck compact dump replay
complete -c cffs -n "not __fish_seen_subcommand_from $commands" -f -a "$commands"
complete -c cffs -n "__fish_seen_subcommand_from mount import" -l policy -x -a "none directory"
complete -c cffs -n "__fish_seen_subcommand_from format" -l inline-max -l composite-file-max -l composite-max -x
complete -c cffs -n "__fish_seen_subcommand_from format" -l backend -x -a posix
complete -c cffs -n "__fish_seen_subcommand_from mount" -l commit-interval -l quiet -l cache-size -l threads -x
complete -c cffs -n "__fish_seen_subcommand_from mount" -s f -l foreground
complete -c cffs -n "__fish_seen_subcommand_from import" -l jobs -x
complete -c cffs -n "__fish_seen_subcommand_from stat replay" -l json
complete -c cffs -n "__fish_seen_subcommand_from dump" -l hex
complete -c cffs -n "__fish_seen_subcommand_from dump" -l inode -l composite -x
complete -c cffs -n "__fish_seen_subcommand_from replay" -l target -l library -r
complete -c cffs -n "__fish_seen_subcommand_from replay" -l make-tree -l cold
complete -c cffs -n "__fish_seen_subcommand_from replay" -l hosts -l min-files -l threads -x
