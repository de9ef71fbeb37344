# bash completion for cffs
_cffs() {
  local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "format mount umount advise import export analyze evaluate regroup stat stats top fsck scrub backup copy salvage compact dump ls cat find du diff warm trace replay bench compare list help doctor --help --version" -- "$cur")
    return
  fi
  case $command in
    format) words="--inline-max= --composite-file-max= --composite-max= --compress=none --compress=lz4 --compress=zstd --dedupe --blob-checksums=on --blob-checksums=off --backend=posix --backend=region --backend=rados --size= --region-size= --large-block= --force --pool= --namespace= --conf= --id=" ;;
    mount) words="--standby --follow --keep= --policy=none --policy=directory --policy=reference --policy=frequency --plan= --plan-ahead --site-root= --depth= --shared= --regroup-interval= --regroup-budget= --access-record= --commit-interval= --quiet= --cache-size= --local-cache= --awake-inodes= --known-inodes= --threads= --transport=auto --transport=ring --transport=device --metrics= --record= --foreground -f -o" ;;
    umount) words="--force" ;;
    export) words="--exclude= --update --checksum --delete --quiet" ;;
    import) words="--policy=none --policy=directory --policy=reference --policy=frequency --plan= --site-root= --depth= --shared= --jobs= --to= --exclude= --update --checksum --delete --quiet" ;;
    advise) words="--disk=hdd --disk=cloud --disk=ssd --disk=this --log= --sample= --other-devices --jobs= --seed= --json --html= --quiet" ;;
    analyze) words="-o --output= --top= --graph= --transactions= --engine=native --engine=spark --master= --spark= --spark-conf= --spark-log= --tune --cache= --json --disk=hdd --disk=cloud --disk=ssd --disk=this --disk-at= --reading=group --reading=mount --exchange-bytes= --rest-bytes= --table-bytes= --format= --algorithm=closed --algorithm=apriori --algorithm=adjacency --algorithm=benefit --algorithm=none --min-support= --min-confidence= --max-size= --max-bytes= --max-itemsets= --stream= --session-gap= --session-max-files= --crawlers=apart --crawlers=mixed --batch= --below= --prefix= --max-bad= --quiet" ;;
    evaluate) words="--tree= --site-root= --depth= --shared= --train= --splits= --cold --cache= --json --disk=hdd --disk=cloud --disk=ssd --disk=this --disk-at= --reading=group --reading=mount --exchange-bytes= --rest-bytes= --table-bytes= --format= --algorithm=closed --algorithm=apriori --algorithm=adjacency --algorithm=benefit --algorithm=none --min-support= --min-confidence= --max-size= --max-bytes= --max-itemsets= --stream= --session-gap= --session-max-files= --crawlers=apart --crawlers=mixed --batch= --below= --prefix= --max-bad= --quiet" ;;
    regroup) words="--compress=none --compress=lz4 --compress=zstd --dedupe=on --dedupe=off --policy=none --policy=directory --policy=reference --policy=frequency --plan= --site-root= --depth= --shared= --plan-ahead --dry-run --cancel --quiet --json" ;;
    list) words="--json" ;;
    help) words="stores policies mounting full-disk damage exit-status" ;;
    stat) words="--by-directory --by-directory= --json" ;;
    stats) words="--table-log --watch --watch= --json" ;;
    top) words="--interval= --sort=requests --sort=time --sort=read --sort=written --sort=errors --lines= --once --json" ;;
    fsck) words="--repair --jobs= --quiet" ;;
    compact | salvage) words="--quiet" ;;
    copy) words="--size= --quiet" ;;
    scrub) words="--rate= --anew --stop --status --json --quiet" ;;
    backup) words="--rate= --stop --status --json --quiet" ;;
    dump) words="--inode= --composite= --hex" ;;
    ls) words="-l -a -A -R -1 -d -h -n -i -t -S -r --all --almost-all --recursive --directory --human-readable --numeric-uid-gid --inode --reverse --json --foreign-owner" ;;
    cat) words="--foreign-owner" ;;
    find) words="--foreign-owner -name -iname -path -ipath -type -size -mtime -ctime -atime -mmin -cmin -amin -newer -perm -user -group -uid -gid -links -inum -empty -maxdepth -mindepth -prune -quit -print -print0" ;;
    du) words="-s -h -d -a -c -b --summarize --human-readable --max-depth= --all --total --apparent-size --bytes --foreign-owner" ;;
    diff) words="--times --no-owner --no-mode --no-xattrs --no-content --details -q --quiet --foreign-owner" ;;
    warm) words="--metadata --memory= --jobs= -q --quiet --foreign-owner" ;;
    trace)
      if [ "$COMP_CWORD" = 2 ]; then
        mapfile -t COMPREPLY < <(compgen -W "import record show stat slice --help" -- "$cur")
        return
      fi
      words="-o --format= --below= --initial= --hosts= --from= --to= --first= --last= --limit= --json" ;;
    replay) words="--target= --library= --predict --make-tree --fresh --hosts=auto --min-files= --threads= --think=zero --think=recorded --longest-idle= --cache=as-is --cache=cold --cache=warm --cache=list: --cold --before= --warm-up= --rounds= --check=content --check=size --check=none --max-surprises= --results= --name= --format= --below= --initial= --json --quiet" ;;
    bench)
      if [ "$COMP_CWORD" = 2 ]; then
        mapfile -t COMPREPLY < <(compgen -W "create metadata large-directory small-files desktop-metadata grid-small-files readdir fdtree postmark web-server development obfs-micro obfs-1 obfs-2 source-tree programs reads growth old-disk paper list passthrough floor disk --help" -- "$cur")
        return
      fi
      words="--targets= --disk=raw --disk=cloud --disk=hdd --image-size= --memory= --aged= --rounds= --sync --mount-sync --seed= --results= --resume --quiet --work= --tiny --paper --all --report-only --site= --markdown= --html= --plot= --profile=cloud --profile=hdd" ;;
    doctor) words="--json" ;;
    compare) words="--baseline= --benchmark= --plot= --html= --json --quiet" ;;
  esac
  case $cur in
    -*) mapfile -t COMPREPLY < <(compgen -W "$words --help" -- "$cur") ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
  esac
}
complete -o filenames -o nospace -F _cffs cffs
