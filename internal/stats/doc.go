// Package stats judges what runs have measured: it compares two variants, sums
// up the runs of one, says how a measure grows, and whether a phase was steady.
//
// It is mathematics over one number per run, with no clock, no files, no chance
// and nothing of plimsoll in it: the same values always give the same answer.
// The run is the unit, as operations within a run are not independent of each
// other, and more of them do not make more evidence.
//
// What cannot be known is not given: such a number is nil, and a warning, a
// plain sentence, says why. No input makes a function panic or return a NaN.
package stats

// Level is the confidence of every interval, and 1-Level the rate of false
// alarms that every test keeps to. It is fixed, so that a level cannot be
// chosen after the numbers have been seen.
const Level = 0.95

// alpha is the rate of false alarms; it is written out, as 1-0.95 is not 0.05
// in binary.
const alpha = 0.05
