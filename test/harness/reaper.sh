# Ends what a test process left behind. It reads lines from the process that started it and acts when that one is gone,
# however it went (kill -9 included), since then its standard input ends.
#   + PID   kill this process at the end      - PID   it has ended, forget it
#   d DIR   remove this folder at the end     q       forget everything, leave all as it is
trap '' INT TERM HUP QUIT
pids=' '
dirs=''
while read -r op what; do
  case $op in
    +) pids="$pids$what " ;;
    -) case $pids in *" $what "*) pids="${pids%% $what *} ${pids#* $what }" ;; esac ;;
    d) dirs="$dirs
$what" ;;
    q) pids=' '; dirs='' ;;
  esac
done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
printf '%s\n' "$dirs" | while read -r dir; do
  case $dir in */isthmus-*) rm -rf "$dir" ;; esac
done
