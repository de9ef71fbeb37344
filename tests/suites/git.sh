#!/usr/bin/env bash
# git on the mount: what people do, and git's own tests from its source package.
. "$(dirname "$0")/suite.sh" "$@"
require git

# Tests of git's own suite that lean on the file system: objects, index, checkout, refs, worktrees, sparse files, modes.
scripts=(t0000-basic t0003-attributes t1001-read-tree-m-2way t1400-update-ref t1450-fsck t2000-conflict-when-checking-files-out
         t2004-checkout-cache-temp t3200-branch t3903-stash t5304-prune t5500-fetch-pack t5601-clone t6500-gc t7001-mv
         t7300-clean t7502-commit-porcelain)
more=(t1006-cat-file t1300-config t1500-rev-parse t1700-split-index t2400-worktree-add t2401-worktree-prune t3404-rebase-interactive
      t4201-shortlog t5300-pack-object t5510-fetch t5551-http-fetch-smart t6030-bisect-porcelain t7063-status-untracked-cache
      t7400-submodule-basic t7508-status t7700-repack t9902-completion t7519-status-fsmonitor t0021-conversion t1050-large)

case_work() {
  fresh_mount || return 1
  export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org
  local r=$mnt/repository
  make_repository() {
    git init -q "$r" && cp -a "$source_tree/linux" "$r/" && git -C "$r" add -A && git -C "$r" commit -qm one &&
      for i in 1 2 3 4 5; do echo "$i" >>"$r/linux/a.out.h"; git -C "$r" commit -qam "change $i" || return 1; done
  }
  check "init, add, commit" make_repository
  check "clone" git clone -q --no-local "$r" "$mnt/clone"
  check "clone with hard links" git clone -q --local "$r" "$mnt/linked"
  check "the clones are clean" bash -c "for d in clone linked; do test -z \"\$(git -C '$mnt'/\$d status --porcelain)\" || exit 1; done"
  check "checkout back and forth" bash -c "cd '$mnt/clone' && for i in 1 2 3; do git checkout -q HEAD~3 && git checkout -q -; done && test -z \"\$(git status --porcelain)\""
  check "worktrees" bash -c "cd '$mnt/clone' && git worktree add -q ../tree HEAD~2 && git -C ../tree status --porcelain | wc -l | grep -qx 0 && git worktree remove ../tree"
  check "branch, rebase, stash" bash -c "cd '$mnt/clone' && git checkout -qb b HEAD~2 && echo x >new && git add new && git commit -qm n && git rebase -q - && echo y >>new && git stash -q && git stash pop -q && git commit -qam m"
  check "gc" git -C "$mnt/clone" gc -q --prune=now
  check "repack" git -C "$mnt/clone" repack -qadf
  check "fsck" git -C "$mnt/clone" fsck --full --strict
  check "status again, untouched by regrouping" bash -c "cd '$mnt/clone' && '$cffs' compact '$mnt' && GIT_TRACE2_PERF=/dev/null git diff --quiet && test -z \"\$(git status --porcelain)\""
  finish
}

case_own_tests() {
  local source=$CFFS_SUITE_SOURCES/git
  [ -d "$source/t" ] || { echo "  skipped: no $source; scripts/install_suites.sh --sources fetches it"; return 0; }
  fresh_mount || return 1
  local s code
  [ -z "$long" ] || scripts+=("${more[@]}")
  [ ${#suite_arguments[@]} -le 1 ] || scripts=("${suite_arguments[@]:1}")
  for s in "${scripts[@]}"; do
    [ -e "$source/t/$s.sh" ] || continue
    ( cd "$source/t" && limited 300 env HOME="$base/work" GIT_TEST_INSTALLED="$(dirname "$(command -v git)")" "./$s.sh" --root="$mnt/t" -q ) >"$base/work/log" 2>&1
    code=$?
    rm -rf "$mnt/t"
    [ $code = 0 ] && continue
    if ( cd "$source/t" && limited 300 env HOME="$base/work" GIT_TEST_INSTALLED="$(dirname "$(command -v git)")" "./$s.sh" --root="$base/work/t" -q ) >"$base/work/native" 2>&1; then
      echo "  FAILED: $s (the native file system passes)"
      grep -E '^not ok|^# failed' "$base/work/log" | head -n 5 | sed 's/^/    /'
      failures=$((failures + 1))
    else
      echo "  skipped: $s also fails on the native file system"
    fi
  done
  finish
}

run_cases work own_tests -- "${suite_arguments[@]:0:1}"
