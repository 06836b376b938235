package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Live writes event files of TensorBoard while a run goes on: every validation, and as many updates as TensorBoard
// shows. Its methods are not safe for concurrent use.
//
// They lie below FOLDER/tb, a folder for each split. What is added becomes visible with Flush, and is not synced:
// the events can be made again from the metrics.
type Live struct {
	folder  string // of the event files
	every   uint64 // updates between two records of training
	resumed bool   // there are files from before
	restart uint64 // the update up to which they count
	trained bool   // there was a record of training
	passed  uint64 // the update of the last one
	now     func() time.Time
	boards  map[string]*board
}

// mostRecords is about how many records of training are written: TensorBoard draws a thousand points of a curve.
const mostRecords = 2000

// NewLive returns a writer for the run in a folder that makes so many updates, the first after update from. Nothing is
// written before the first record. The records of an earlier part of the run stay in files of their own.
func NewLive(run string, steps, from uint64) *Live {
	return &Live{
		folder: filepath.Join(run, Folder), every: max(1, steps/mostRecords), resumed: from > 0, restart: from, passed: from,
		now: time.Now, boards: map[string]*board{},
	}
}

// Add writes a record, unless it is one of training in between. The first one is always written.
func (l *Live) Add(r Record) error {
	if r.Split == "train" && !l.due(r.Step) {
		return nil
	}
	b := l.boards[r.Split]
	if b == nil {
		// Of two files that begin within a second, the names differ by the process and the time.
		name := fmt.Sprintf("events.out.tfevents.%d.switchyard.%d.%d", r.Time.Unix(), os.Getpid(), l.now().Nanosecond())
		var err error
		if b, err = newBoard(filepath.Join(l.folder, r.Split, name), r.Time); err != nil {
			return fmt.Errorf("write event files: %w", err)
		}
		l.boards[r.Split] = b
		if l.resumed {
			if err := b.forget(r.Time, l.restart+1); err != nil {
				return err
			}
		}
	}
	if err := b.add(r); err != nil {
		return fmt.Errorf("write event files: %w", err)
	}
	return nil
}

// due reports whether the record of an update of training is written: if it passes a multiple of every, where rounds
// of local steps need not end.
func (l *Live) due(step uint64) bool {
	due := !l.trained || step/l.every != l.passed/l.every
	l.trained, l.passed = true, step
	return due
}

// Back is called when the run returns to an update: what was written of later ones counts no more, nor what files from
// before have of them.
func (l *Live) Back(step uint64) error {
	l.restart, l.passed = min(l.restart, step), step
	for _, b := range l.boards {
		if err := b.forget(l.now(), step+1); err != nil {
			return err
		}
	}
	return nil
}

// forget writes the event after which TensorBoard forgets what it has read of an update and of later ones: a SessionLog
// with the status START.
func (b *board) forget(t time.Time, step uint64) error {
	const eventSession, sessionStatus, start = 7, 1, 1
	event := protowire.AppendVarint(protowire.AppendTag(at(t), eventStep, protowire.VarintType), step)
	status := protowire.AppendVarint(protowire.AppendTag(nil, sessionStatus, protowire.VarintType), start)
	event = protowire.AppendBytes(protowire.AppendTag(event, eventSession, protowire.BytesType), status)
	if err := writeRecord(b.to, event); err != nil {
		return fmt.Errorf("write event files: %w", err)
	}
	return nil
}

// Flush makes what was added visible to readers.
func (l *Live) Flush() error {
	var all []error
	for _, b := range l.boards {
		all = append(all, b.to.Flush())
	}
	return errors.Join(all...)
}

// Close ends the files. What is added later begins new ones.
func (l *Live) Close() error {
	var all []error
	for _, b := range l.boards {
		all = append(all, b.close())
	}
	l.boards = map[string]*board{}
	return errors.Join(all...)
}
