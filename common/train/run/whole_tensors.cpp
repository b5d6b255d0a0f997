#include "run/whole_tensors.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "checkpoint/checkpoint.hpp"
#include "comm/process_group.hpp"

namespace lockstep::run {
namespace {

// A run of a window's elements, of one owner.
struct Piece {
  std::int64_t at = 0;        // in the window
  std::int64_t position = 0;  // among the elements that the owner holds
  std::int64_t count = 0;
};

// Goes through the windows of one tensor.
class Windows {
 public:
  explicit Windows(const PartPlan::Whole& tensor)
      : element_bytes_(static_cast<std::int64_t>(bytes_of(tensor.dtype))),
        count_(tensor.shape.count()),
        runs_(runs_of(tensor)) {}

  // Moves to the next window. @return  False past the last one.
  bool next() {
    first_run_ = end_run_;
    window_ = {window_.end, std::min(count_, window_.end + kWindowBytes / element_bytes_)};
    while (first_run_ > 0 && runs_[first_run_ - 1].elements.end > window_.begin) --first_run_;
    while (end_run_ < runs_.size() && runs_[end_run_].elements.begin < window_.end) ++end_run_;
    return window_.count() > 0;
  }

  [[nodiscard]] std::int64_t count() const noexcept { return window_.count(); }

  // Of those, what one rank owns, in the order in which it holds the elements; this is the order of its message.
  [[nodiscard]] std::vector<Piece> pieces_of(int rank) const {
    std::vector<Piece> pieces;
    for (std::size_t i = first_run_; i < end_run_; ++i) {
      const OwnedRun& run = runs_[i];
      const std::int64_t begin = std::max(run.elements.begin, window_.begin);
      const std::int64_t end = std::min(run.elements.end, window_.end);
      if (run.rank == rank && begin < end)
        pieces.push_back({begin - window_.begin, run.position + begin - run.elements.begin, end - begin});
    }
    return pieces;
  }

  // The ranks that own elements of the window, ascending.
  [[nodiscard]] std::vector<int> owners() const {
    std::vector<int> ranks;
    for (std::size_t i = first_run_; i < end_run_; ++i) ranks.push_back(runs_[i].rank);
    std::ranges::sort(ranks);
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
  }

 private:
  std::int64_t element_bytes_;
  std::int64_t count_;
  std::vector<OwnedRun> runs_;
  Range window_;
  std::size_t first_run_ = 0, end_run_ = 0;  // of the runs that reach into the window
};

std::int64_t count_of(std::span<const Piece> pieces) {
  std::int64_t count = 0;
  for (const Piece& piece : pieces) count += piece.count;
  return count;
}

// The elements of `pieces` that a part holds, side by side on the host: a view of the part if that is possible.
Tensor packed(const NamedPart& part, std::span<const Piece> pieces) {
  const Tensor elements = part.tensor.reshape({part.tensor.count()});
  const auto rows_of = [&elements](const Piece& piece) {
    return elements.rows(piece.position, piece.position + piece.count);
  };
  if (pieces.size() == 1) return rows_of(pieces.front()).to(Device{});
  const Tensor message = Tensor::empty({count_of(pieces)}, elements.dtype());
  std::int64_t filled = 0;
  for (const Piece& piece : pieces) {
    message.rows(filled, filled + piece.count).copy_from(rows_of(piece));
    filled += piece.count;
  }
  return message;
}

// The reverse of packed(): puts the elements of a message where they are in the window.
void unpack(const Tensor& window, std::span<const Piece> pieces, const Tensor& message) {
  std::int64_t taken = 0;
  for (const Piece& piece : pieces) {
    window.rows(piece.at, piece.at + piece.count).copy_from(message.rows(taken, taken + piece.count));
    taken += piece.count;
  }
}

std::string_view bytes_in(const Tensor& host) {
  return {static_cast<const char*>(host.const_data()), static_cast<std::size_t>(host.bytes())};
}

// One whole tensor, from the parts of all ranks to the file. @param own  This rank's part, or null.
void write_whole(checkpoint::FileWriter& file, const PartPlan::Whole& tensor, const NamedPart* own,
                 comm::ProcessGroup* group) {
  Windows windows(tensor);
  while (windows.next()) {
    const Tensor window = Tensor::empty({windows.count()}, tensor.dtype);
    for (const int rank : windows.owners()) {
      const std::vector<Piece> pieces = windows.pieces_of(rank);
      if (rank == 0) {
        unpack(window, pieces, packed(*own, pieces));
        continue;
      }
      const Tensor message = Tensor::empty({count_of(pieces)}, tensor.dtype);
      group->recv(comm::buffer_of(message), rank).synchronize();
      unpack(window, pieces, message);
    }
    file.write(bytes_in(window));
  }
}

// Adds an empty part for each tensor that is not in the list.
void add_missing(std::vector<NamedPart>& parts, const PartPlan& plan) {
  std::set<std::string, std::less<>> names;
  for (const NamedPart& part : parts) names.insert(part.name);
  for (const PartPlan::Whole& whole : plan.tensors()) {
    if (!names.contains(whole.name))
      parts.push_back({whole.name, Tensor::empty({0}, whole.dtype), Slice::of(whole.shape).part({0, 0}), false});
  }
}

}  // namespace

WholeTensors::WholeTensors(const TrainingParts& parts, comm::ProcessGroup* group)
    : group_(group), model_(parts.model, group), optimizer_(parts.optimizer, group) {}

bool WholeTensors::is_main() const noexcept { return group_ == nullptr || group_->rank() == 0; }

void WholeTensors::save(const TrainingParts& parts,
                        const std::function<void(const checkpoint::StreamedContents&)>& write) const {
  if (!is_main()) {
    send(model_, parts.model);
    send(optimizer_, parts.optimizer);
    return;
  }
  telling_the_others([&] { write({received(model_, parts.model), received(optimizer_, parts.optimizer)}); });
}

void WholeTensors::save_model(std::span<const NamedPart> model,
                              const std::function<void(const checkpoint::StreamedTensors&)>& write) const {
  if (!is_main()) return send(model_, model);
  telling_the_others([&] { write(received(model_, model)); });
}

TrainingParts WholeTensors::with_tensors_of_others(TrainingParts parts) const {
  add_missing(parts.model, model_);
  add_missing(parts.optimizer, optimizer_);
  return parts;
}

checkpoint::StreamedTensors WholeTensors::received(const PartPlan& plan, std::span<const NamedPart> parts) const {
  checkpoint::StreamedTensors content;
  for (const PartPlan::Whole& tensor : plan.tensors())
    content.tensors.push_back({tensor.name, tensor.shape, tensor.dtype});
  content.write = [tensors = plan.tensors(), own = plan.arranged(parts), group = group_](checkpoint::FileWriter& file,
                                                                                         std::size_t index) {
    write_whole(file, tensors[index], own[index], group);
  };
  return content;
}

void WholeTensors::send(const PartPlan& plan, std::span<const NamedPart> parts) const {
  const std::vector<const NamedPart*> own = plan.arranged(parts);
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i] == nullptr) continue;
    Windows windows(plan.tensors()[i]);
    while (windows.next()) {
      const std::vector<Piece> pieces = windows.pieces_of(group_->rank());
      if (pieces.empty()) continue;
      const Tensor message = packed(*own[i], pieces);
      group_->send(comm::buffer_of(message), 0).synchronize();
    }
  }
}

// The others wait for rank 0 to take their elements, so they are told if it does not.
void WholeTensors::telling_the_others(const std::function<void()>& write) const {
  try {
    write();
  } catch (const PeerFailedError&) {
    throw;  // they know
  } catch (const std::exception& error) {
    if (group_ != nullptr) group_->abort(concat("rank 0 could not save: ", error.what()));
    throw;
  }
}

}  // namespace lockstep::run
