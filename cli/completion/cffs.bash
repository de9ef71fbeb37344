# bash completion for cffs
_cffs() {
  local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "format mount umount import export stat fsck compact dump replay --help --version" -- "$cur")
    return
  fi
  case $command in
    format) words="--inline-max= --composite-file-max= --composite-max= --backend=posix" ;;
    mount) words="--policy=none --policy=directory --commit-interval= --quiet= --cache-size= --threads= --foreground -f -o" ;;
    import) words="--policy=none --policy=directory --jobs=" ;;
    stat) words="--json" ;;
    dump) words="--inode= --composite= --hex" ;;
    replay) words="--target= --library= --make-tree --hosts=auto --min-files= --threads= --cold --json" ;;
  esac
  case $cur in
    -*) mapfile -t COMPREPLY < <(compgen -W "$words --help" -- "$cur") ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
  esac
}
complete -o filenames -o nospace -F _cffs cffs
