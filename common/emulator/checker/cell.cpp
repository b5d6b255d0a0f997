#include "emulator/checker/cell.hpp"

namespace lockstep::emulator::checker {

Verdict CellRules::check_contents(const Cell& cell) const noexcept {
  if (cell.write.interval < written_from_) return {Problem::kUninitialised, {}};
  return {};
}

Verdict CellRules::visit_read(Cell& cell) const noexcept {
  Verdict verdict;
  if (cell.write.is(kPending) && cell.write.interval >= written_from_) {
    verdict = {Problem::kNotLanded, cell.write};
  } else if (conflicts(cell.write)) {
    verdict = {Problem::kRace, cell.write};
  } else if (cell.other.is(kWrite) && conflicts(cell.other)) {
    verdict = {Problem::kRace, cell.other};
  } else {
    verdict = check_contents(cell);
  }
  note_read(cell);
  return verdict;
}

Verdict CellRules::visit_write(Cell& cell) const noexcept {
  Verdict verdict;
  for (const Access* const before : {&cell.write, &cell.read, &cell.other}) {
    if (!conflicts(*before)) continue;
    verdict = {Problem::kRace, *before};
    break;
  }
  const bool reads_too = access_.is(kAtomic) && !access_.is(kStoreOnly);
  if (verdict.problem == Problem::kNone && reads_too) verdict = check_contents(cell);
  if (access_.is(kAtomic) && cell.write.is(kAtomic) && !is_ordered(cell.write)) {
    cell.other = cell.write;
  } else if (!(access_.is(kAtomic) && cell.other.is(kWrite) && !is_ordered(cell.other))) {
    cell.other = {};
  }
  cell.read = {};
  cell.write = access_;
  return verdict;
}

int CellRules::distance(const Access& from) const noexcept {
  if (from.interval < order_.block_first()) return 3;
  return from.thread() / 32 != thread_ / 32 ? 2 : 1;
}

void CellRules::note_read(Cell& cell) const noexcept {
  const Access& last = cell.read;
  const bool is_same_thread = last.interval >= order_.block_first() && last.interval != 0 && last.thread() == thread_;
  if (!is_same_thread) {
    const bool keeps_other = cell.other.interval != 0 && !is_ordered(cell.other);
    if (!is_ordered(last)) {
      if (!keeps_other || (!cell.other.is(kWrite) && distance(cell.other) < distance(last))) cell.other = last;
    } else if (!keeps_other) {
      cell.other = {};
    }
  }
  cell.read = access_;
}

}  // namespace lockstep::emulator::checker
