"""top.py - keys claimed per second by four writers, while `bloomery top` runs and without it, and what top costs

usage: python3 top.py PROGRAM [FOLDER [KEYS [ROUNDS]]]

PROGRAM is the program bloomery. Each round claims KEYS new keys (40000000) twice with four processes in FOLDER (/tmp): once while top draws
its screen each second in a terminal, once without it; which comes first changes from round to round. Ratios are of the two in one
round, and all figures are medians of the rounds (5). A round of fewer keys is so short that the start of top is most of its share.
"""
import os
import pathlib
import pty
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

WRITERS = 4


def draw_away(terminal):
    """what a terminal does: it takes what is drawn"""
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        pass


class Top:
    """the program in a terminal of 24 lines of 80 columns; `share`, at the end, is its part of a processor"""

    def __enter__(self):
        self.began = time.monotonic()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execv(PROGRAM, [PROGRAM, 'top', '--every', '1s'])
        self.reader = threading.Thread(target=draw_away, args=(self.terminal,))
        self.reader.start()
        return self

    def __exit__(self, *failure):
        os.kill(self.pid, signal.SIGTERM)
        _, _, use = os.wait4(self.pid, 0)
        self.share = (use.ru_utime + use.ru_stime) / (time.monotonic() - self.began)
        self.reader.join()
        os.close(self.terminal)


def claim(files, keys):
    """keys claimed per second of all writers together in a new filter, and per second of their processor time"""
    subprocess.run([PROGRAM, 'create', 'seen', '-n', str(keys), '-p', '0.001', '--force'], check=True)
    began = time.monotonic()
    writers = [subprocess.Popen([PROGRAM, 'claim', 'seen', '-q', file], stdout=subprocess.DEVNULL) for file in files]
    ended = [os.wait4(writer.pid, 0) for writer in writers]
    if any(status for _, status, _ in ended):
        sys.exit('a writer failed')
    return keys / (time.monotonic() - began), keys / sum(use.ru_utime + use.ru_stime for _, _, use in ended)


def measure_round(number, files, keys):
    """the two figures of claim() without top, the two while it runs, and top's share of a processor"""
    rate = {}
    for with_top in (True, False) if number % 2 else (False, True):
        if with_top:
            with Top() as top:
                rate[True] = claim(files, keys)
        else:
            rate[False] = claim(files, keys)
    return rate[False] + rate[True] + (top.share,)


def main(keys, rounds):
    files = []
    for i in range(WRITERS):
        files.append(f'keys-{i}')
        with open(files[i], 'w') as out:
            out.writelines(f'https://example.org/{i}/{k:08d}\n' for k in range(keys // WRITERS))
    table = [measure_round(number, files, keys) for number in range(rounds)]
    without, of_processor, with_top, of_processor_with_top, share = map(statistics.median, zip(*table))
    print(f'keys claimed, {WRITERS} writers             without top       with top  with / without in one round')
    for words, o, w, ratio in (('per second', without, with_top, (row[2] / row[0] for row in table)),
                               ('per second of processor', of_processor, of_processor_with_top, (row[3] / row[1] for row in table))):
        print(f'{words:32}{o:14,.0f} {w:14,.0f} {statistics.median(ratio):16.3f}')
    print(f'top takes {100 * share:.2f} % of a processor; the load of the machine is {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors')


if len(sys.argv) < 2:
    sys.exit(__doc__)
PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
    os.chdir(folder)
    os.environ['BLOOMERY_STORE'] = str(pathlib.Path(folder, 'store'))
    main(int(sys.argv[3]) if len(sys.argv) > 3 else 40000000, int(sys.argv[4]) if len(sys.argv) > 4 else 5)
    os.chdir('/')
