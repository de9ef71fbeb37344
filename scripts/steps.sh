# Sourced by the scripts that work for minutes: each step says what it does, which of how many it is and how long it took
# last time (kept in build/steps), and the end tells where the time went.
#   steps_of NAME COUNT
#   step "what it does" command...
#   steps_summary
steps_of() {
  steps_name=$1
  steps_count=$2
  steps_done=0
  steps_kept=$PWD/build/steps
  steps_table=
  mkdir -p "$steps_kept"
}
steps_time() {  # seconds, as a person reads them
  if [ "$1" -lt 60 ]; then echo "$1 s"; else echo "$(($1 / 60)) min $(($1 % 60)) s"; fi
}
step() {  # what, command...
  local what=$1 last='' started=$SECONDS code=0 file
  shift
  steps_done=$((steps_done + 1))
  file=$steps_kept/$steps_name.$(tr -c 'a-z0-9\n' _ <<<"${what,,}")
  [ ! -r "$file" ] || last=", last time $(steps_time "$(cat "$file")")"
  echo "== [$steps_done/$steps_count] $what$last"
  "$@" || code=$?
  local took=$((SECONDS - started))
  steps_table+=$(printf '%10s  %s' "$(steps_time $took)" "$what$([ $code = 0 ] || echo ' (failed)')")$'\n'
  [ $code != 0 ] || echo $took >"$file"
  return $code
}
steps_summary() {
  echo "== where the time went"
  printf '%s' "$steps_table"
}

# What ninja prints before each command: [done/all, seconds since the start].
export NINJA_STATUS='[%f/%t, %e s] '
