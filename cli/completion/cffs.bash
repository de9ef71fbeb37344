# bash completion for cffs
_cffs() {
  local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "format mount umount advise import export analyze evaluate regroup stat fsck scrub backup copy salvage compact dump trace replay bench compare --help --version" -- "$cur")
    return
  fi
  case $command in
    format) words="--inline-max= --composite-file-max= --composite-max= --compress=none --compress=lz4 --compress=zstd --dedupe --blob-checksums=on --blob-checksums=off --backend=posix --backend=region --backend=rados --size= --region-size= --large-block= --force --pool= --namespace= --conf= --id=" ;;
    mount) words="--standby --follow --keep= --policy=none --policy=directory --policy=reference --policy=frequency --plan= --plan-ahead --site-root= --depth= --shared= --regroup-interval= --regroup-budget= --access-record= --commit-interval= --quiet= --cache-size= --local-cache= --awake-inodes= --known-inodes= --threads= --transport=auto --transport=ring --transport=device --record= --foreground -f -o" ;;
    umount) words="--force" ;;
    import) words="--policy=none --policy=directory --policy=reference --policy=frequency --plan= --site-root= --depth= --shared= --jobs=" ;;
    advise) words="--disk=hdd --disk=cloud --disk=ssd --disk=this --log= --sample= --other-devices --jobs= --seed= --json --html=" ;;
    analyze) words="-o --output= --top= --graph= --transactions= --engine=native --engine=spark --master= --spark= --spark-conf= --spark-log= --tune --cache= --json --disk=hdd --disk=cloud --disk=ssd --disk=this --disk-at= --reading=group --reading=mount --exchange-bytes= --rest-bytes= --table-bytes= --format= --algorithm=closed --algorithm=apriori --algorithm=adjacency --algorithm=benefit --algorithm=none --min-support= --min-confidence= --max-size= --max-bytes= --max-itemsets= --stream= --session-gap= --session-max-files= --crawlers=apart --crawlers=mixed --batch= --below= --prefix= --max-bad=" ;;
    evaluate) words="--tree= --site-root= --depth= --shared= --train= --splits= --cold --cache= --json --disk=hdd --disk=cloud --disk=ssd --disk=this --disk-at= --reading=group --reading=mount --exchange-bytes= --rest-bytes= --table-bytes= --format= --algorithm=closed --algorithm=apriori --algorithm=adjacency --algorithm=benefit --algorithm=none --min-support= --min-confidence= --max-size= --max-bytes= --max-itemsets= --stream= --session-gap= --session-max-files= --crawlers=apart --crawlers=mixed --batch= --below= --prefix= --max-bad=" ;;
    regroup) words="--compress=none --compress=lz4 --compress=zstd --dedupe=on --dedupe=off --policy=none --policy=directory --policy=reference --policy=frequency --plan= --site-root= --depth= --shared= --plan-ahead --dry-run --json" ;;
    stat) words="--by-directory --by-directory= --json" ;;
    scrub) words="--rate= --anew --stop --status --json" ;;
    backup) words="--rate= --stop --status --json" ;;
    dump) words="--inode= --composite= --hex" ;;
    trace)
      if [ "$COMP_CWORD" = 2 ]; then
        mapfile -t COMPREPLY < <(compgen -W "import record show stat slice --help" -- "$cur")
        return
      fi
      words="-o --format= --below= --initial= --hosts= --from= --to= --first= --last= --limit= --json" ;;
    replay) words="--target= --library= --predict --make-tree --fresh --hosts=auto --min-files= --threads= --think=zero --think=recorded --longest-idle= --cache=as-is --cache=cold --cache=warm --cache=list: --cold --before= --warm-up= --rounds= --check=content --check=size --check=none --max-surprises= --results= --name= --format= --below= --initial= --json" ;;
    bench)
      if [ "$COMP_CWORD" = 2 ]; then
        mapfile -t COMPREPLY < <(compgen -W "create metadata large-directory small-files desktop-metadata grid-small-files readdir fdtree postmark web-server development obfs-micro obfs-1 obfs-2 source-tree programs reads paper list passthrough floor disk --help" -- "$cur")
        return
      fi
      words="--targets= --disk=raw --disk=cloud --disk=hdd --image-size= --memory= --aged= --rounds= --sync --mount-sync --seed= --results= --work= --tiny --paper --all --report-only --site= --markdown= --html= --plot= --profile=cloud --profile=hdd" ;;
    compare) words="--baseline= --benchmark= --plot= --html= --json" ;;
  esac
  case $cur in
    -*) mapfile -t COMPREPLY < <(compgen -W "$words --help" -- "$cur") ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
  esac
}
complete -o filenames -o nospace -F _cffs cffs
