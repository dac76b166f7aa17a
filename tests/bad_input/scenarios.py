"""Files of scenarios, and the traffic matrices next to them."""

from __future__ import annotations

from pathlib import Path

from tests.bad_input.row import Row

HEADER = "plan,number,title,cc,matrix,load_balancing,paths,options,fct_min_us,fct_max_us,new,rtx,rts,acks,nacks,pulls"
GOOD = "plan,1,title,sender,own,mixed,64,end=1000,1,1,1,0,0,1,0,0"
MATRIX = "from,to,start_us,size_bytes\n0,1,0,4086\n"


def move_matrix(folder: Path) -> None:
    """Moves the matrix to its folder."""
    (folder / "matrices").mkdir()
    (folder / "own.csv").rename(folder / "matrices" / "own.csv")


def scenarios(text: str | bytes, *words: str, matrix: str = MATRIX, quick: bool = False) -> Row:
    arguments = ("reproduce", "uet", "--scenarios", "bad.csv", "--out", "out")
    return Row(
        (*arguments, "--quick") if quick else arguments,
        ("uet/scenarios: ", *words),
        files={"bad.csv": text, "own.csv": matrix},
        damage=move_matrix,
    )


def changed(old: str, new: str, *words: str) -> Row:
    assert old in GOOD
    return scenarios(f"{HEADER}\n{GOOD.replace(old, new, 1)}\n", "bad.csv: line 2: ", *words)


def matrix(text: str, *words: str) -> Row:
    return scenarios(f"{HEADER}\n{GOOD}\n", "matrices/own.csv: ", *words, matrix=text)


SCENARIOS = [
    Row(("reproduce", "amp/fig02", "--scenarios", "x.csv"), ("--scenarios: amp/fig02 does not compare scenarios; ",)),
    Row(("reproduce", "uet", "--scenarios"), ("--scenarios",)),
    Row(("reproduce", "uet", "--scenarios", "none.csv"), ("none.csv: cannot read: No such file or directory; pass",)),
    scenarios("", "bad.csv: column plan is missing; allowed: plan, number, "),
    scenarios(f"{HEADER}\n", "bad.csv: no rows; allowed: at least one"),
    scenarios(b"\xff\xfe", "bad.csv: cannot read: not UTF-8 text; pass a CSV file"),
    scenarios(f"{HEADER},plan\n{GOOD},x\n", "bad.csv: column plan is given twice; "),
    scenarios(f'{HEADER}\n"plan\n', "bad.csv: line ", "not valid CSV: "),
    scenarios(f"{HEADER}\n{GOOD},7\n", "bad.csv: line 2: not 16 values, as the header has"),
    scenarios(f"{HEADER}\nplan,1\n", "bad.csv: line 2: not 16 values, as the header has"),
    scenarios(f"{HEADER}\n{GOOD}\n{GOOD}\n", "bad.csv: line 3: number: given twice in its plan; remove one"),
    changed("plan,", ",", "plan: no value; allowed: text"),
    changed(",1,title", ",x,title", "number: 'x'; allowed: a whole number, 0 to 1000000000"),
    changed("sender", "nscc", "cc: 'nscc'; allowed: sender, receiver, both"),
    changed("mixed", "random", "load_balancing: 'random'; allowed: oblivious, bitmap, reps, mixed"),
    changed(",64,", ",48,", "paths: 48; allowed: a power of two, 1 to 65536"),
    changed(",64,", ",0,", "paths: '0'; allowed: a whole number, 1 to 65536"),
    changed("end=1000", "", "options: no end; add end=MICROSECONDS"),
    changed("end=1000", "end=0", "options: end: '0'; allowed: a whole number, 1 to"),
    changed("end=1000", "end=1000 speed=7", "options: 'speed=7'; allowed: end=NUMBER, "),
    changed("end=1000", "end=1 topo=x.topo", "options: topo: 'x.topo'; allowed: leaf_spine_1024_oversub.topo, "),
    changed("end=1000", "end=1 failed=3", "options: failed: 3; allowed: 0 to 2 with this matrix"),
    scenarios(
        f"{HEADER}\n{GOOD.replace('end=1000', 'end=1000 conn_reuse')}\n",
        "bad.csv: line 2: options: conn_reuse: messages differ in size or start; use equal ones",
        matrix=f"{MATRIX}0,1,5,4086\n",
    ),
    changed(
        "end=1000", "end=1 failed=1 topo=leaf_spine_1024_oversub.topo", "options: failed: not supported with topo; "
    ),
    changed("1,1,1,0", "1,-1,1,0", "fct_max_us: '-1'; allowed: a number, 0 to 1e+12"),
    changed("1,1,1,0", "1,nan,1,0", "fct_max_us: 'nan'; allowed: a number, 0 to 1e+12"),
    scenarios(f"{HEADER}\n{GOOD.replace('own', 'other')}\n", "bad.csv: matrix 'other': matrices/other.csv does not"),
    scenarios(f"{HEADER}\n{GOOD.replace('own', '../own')}\n", "bad.csv: matrix '../own': not a name; allowed: "),
    scenarios(
        f"{HEADER}\n{GOOD.replace('own', 'perm_1024n_1024c_0u_2000000b')}\n",
        "bad.csv: no scenarios in the quick version, which has scenarios of up to 128 hosts",
        "remove --quick",
        quick=True,
    ),
    matrix("", "column from is missing; allowed: from, to, start_us, size_bytes"),
    matrix(MATRIX.replace("4086", "0"), "line 2: size_bytes: '0'; allowed: a whole number, 1 to"),
    matrix(MATRIX.replace("0,1,", "x,1,"), "line 2: from: 'x'; allowed: a whole number, 0 to"),
    matrix(MATRIX.replace("0,1,", "1,1,"), "a flow from host 1 to itself; remove it"),
    scenarios(
        f"{HEADER}\n{GOOD}\n",
        "bad.csv: line 2: matrix: host 5000; allowed: 0 to 1023",
        matrix=MATRIX.replace("0,1,", "0,5000,"),
    ),
]
