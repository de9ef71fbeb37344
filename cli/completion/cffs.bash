# bash completion for cffs
_cffs() {
  local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "format mount umount import export analyze evaluate regroup stat fsck compact dump replay --help --version" -- "$cur")
    return
  fi
  case $command in
    format) words="--inline-max= --composite-file-max= --composite-max= --backend=posix" ;;
    mount) words="--policy=none --policy=directory --policy=reference --policy=frequency --plan= --site-root= --depth= --shared= --regroup-interval= --regroup-budget= --access-record= --commit-interval= --quiet= --cache-size= --threads= --foreground -f -o" ;;
    import) words="--policy=none --policy=directory --policy=reference --policy=frequency --plan= --site-root= --depth= --shared= --jobs=" ;;
    analyze) words="-o --output= --top= --graph= --transactions= --json --format= --algorithm=closed --algorithm=apriori --algorithm=adjacency --min-support= --min-confidence= --max-size= --max-bytes= --max-itemsets= --stream= --session-gap= --session-max-files= --crawlers=apart --crawlers=mixed --batch= --below= --prefix= --max-bad=" ;;
    evaluate) words="--tree= --site-root= --depth= --shared= --train= --cache= --disk=hdd --disk=ssd --disk=network --json --format= --algorithm=closed --algorithm=apriori --algorithm=adjacency --min-support= --min-confidence= --max-size= --max-bytes= --max-itemsets= --stream= --session-gap= --session-max-files= --crawlers=apart --crawlers=mixed --batch= --below= --prefix= --max-bad=" ;;
    regroup) words="--policy=none --policy=directory --policy=reference --policy=frequency --plan= --site-root= --depth= --shared= --dry-run --json" ;;
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
