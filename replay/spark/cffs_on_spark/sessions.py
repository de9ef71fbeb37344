"""Accesses become sessions, in tasks, as grouping/mining/sessions.h cuts them."""
import bisect

import numpy
import pyarrow

NEVER = 1 << 62


class Sweeps:
    """When idle sessions are looked for, and the time then."""

    def __init__(self, every, times):
        self.every, self.times, self.most = every, times, []
        for t in times:
            self.most.append(max(t, self.most[-1]) if self.most else t)

    def first(self, sweep, beyond):
        """The first one from `sweep` on whose time is beyond; their number: none."""
        found = bisect.bisect_right(self.most, beyond)
        if found >= sweep:
            return found
        for at in range(sweep, len(self.times)):  # the log has stepped back
            if self.times[at] > beyond:
                return at
        return len(self.times)


def session_cutter(sweeps, gap, most_files):
    """Cuts streams, which come one after the other and each in its order, into sessions. Rows (event, begin, items): the order in
    which they are closed; at last four with event -1: begin is a count, items say of what."""
    def cut_batches(batches):
        every = sweeps.every
        most = numpy.array(sweeps.most, "i8")
        events, begins, lengths, flat = [], [], [], []
        counts = [0, 0, 0, 0]  # sessions, of crawlers, too large, repeats
        session = None  # stream, begin, last, number of its last access, crawler, items

        def rows():
            offsets = numpy.concatenate(([0], numpy.cumsum(numpy.array(lengths, "i8")))).astype("i4")
            batch = pyarrow.RecordBatch.from_arrays(
                [pyarrow.array(events, pyarrow.int64()), pyarrow.array(begins, pyarrow.int64()),
                 pyarrow.ListArray.from_arrays(pyarrow.array(offsets), pyarrow.array(flat, pyarrow.int32()))],
                names=["event", "begin", "items"])
            for column_of in (events, begins, lengths, flat):
                column_of.clear()
            return batch

        def close(next_access):
            """`next_access`: of the same stream, or None."""
            stream, begin, last, number, crawler, items = session
            if crawler:
                counts[1] += 1
            elif len(items) > most_files:
                counts[2] += 1
            else:
                counts[0] += 1
                sweep = sweeps.first(number // every + 1, last + 2 * gap)
                if next_access is not None and sweep > next_access // every:
                    events.append(2 * next_access + 1)
                else:
                    events.append(2 * sweep * every if sweep < len(sweeps.times) else NEVER)
                begins.append(begin)
                lengths.append(len(items))
                flat.extend(items)

        def is_cut(t, last, number, g):
            if abs(t - last) > gap:
                return True
            return g // every > number // every and sweeps.first(number // every + 1, last + 2 * gap) <= g // every

        for batch in batches:
            n = batch.num_rows
            if n == 0:
                continue
            s, g, t, item, crawler = (batch.column(c).to_numpy(zero_copy_only=False) for c in range(5))
            same = numpy.empty(n, "?")
            same[1:] = s[1:] == s[:-1]
            same[0] = session is not None and session[0] == s[0]
            after = numpy.maximum(t, 0)  # the session's last time after each access, where the stream does not step back
            last, number = numpy.empty(n, "i8"), numpy.empty(n, "i8")
            last[1:], number[1:] = after[:-1], g[:-1]
            last[0], number[0] = (session[2], session[3]) if same[0] else (0, 0)
            cut = ~same | (numpy.abs(t - last) > gap)
            asked = numpy.nonzero(same & ~cut & (g // every > number // every))[0]
            if len(asked):
                from_sweep, beyond = number[asked] // every, last[asked] + 2 * gap
                found = numpy.searchsorted(most, beyond, "right")
                cut[asked] = (found > from_sweep) & (found <= g[asked] // every)
                for i in asked[found <= from_sweep].tolist():
                    cut[i] = is_cut(int(t[i]), int(last[i]), int(number[i]), int(g[i]))
            for back in numpy.unique(s[same & (t < last)]).tolist():
                run = numpy.nonzero(s == back)[0]
                known = int(last[run[0]])
                for i in range(int(run[0]), int(run[-1]) + 1):
                    last[i] = known
                    if same[i]:
                        cut[i] = is_cut(int(t[i]), known, int(number[i]), int(g[i]))
                    known = max(0 if cut[i] else known, int(t[i]))
                    after[i] = known
            starts = numpy.nonzero(cut)[0].tolist()
            edges = ([0] if not starts or starts[0] != 0 else []) + starts + [n]
            crawled = numpy.concatenate(([0], numpy.cumsum(crawler)))
            items = item.tolist()
            for a, b in zip(edges, edges[1:]):
                if cut[a]:
                    if session is not None:
                        close(int(g[a]) if same[a] else None)
                    session = [s[a], int(g[a]), 0, 0, False, {}]
                session[2], session[3] = int(after[b - 1]), int(g[b - 1])
                session[4] = session[4] or bool(crawled[b] > crawled[a])
                seen = session[5]
                if not seen:
                    seen = dict.fromkeys(items[a:b])
                    if len(seen) <= most_files:
                        counts[3] += b - a - len(seen)
                        session[5] = seen
                        continue
                    seen = session[5]
                for one in items[a:b]:
                    if len(seen) > most_files:
                        break
                    if one in seen:
                        counts[3] += 1
                    seen[one] = None
            if len(flat) > 1 << 18:
                yield rows()
        if session is not None:
            close(None)
        for of, count in enumerate(counts):
            events.append(-1), begins.append(count), lengths.append(1), flat.append(of)
        yield rows()
    return cut_batches
