#include "checkpoint/saver.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace lockstep::checkpoint {
namespace {

// Makes `to` hold tensors of the names, shapes and types of `from`.
void make_room(const std::vector<NamedTensor>& from, std::vector<NamedTensor>& to) {
  const auto fits = [](const NamedTensor& a, const NamedTensor& b) {
    return a.name == b.name && a.tensor.shape() == b.tensor.shape() && a.tensor.dtype() == b.tensor.dtype();
  };
  if (std::ranges::equal(from, to, fits)) return;
  to.clear();
  for (const auto& [name, tensor] : from) to.push_back({name, Tensor::empty(tensor.shape(), tensor.dtype())});
}

// The caller's options, and a thread that nobody waits for any more goes no further than to the next step: its place in
// the folder may be another writer's by then.
FolderOptions stopping_when(const std::atomic<bool>& is_abandoned, const FolderOptions& options) {
  FolderOptions stopping = options;
  stopping.on_save_step = [&is_abandoned, announce = options.on_save_step](std::string_view step) {
    if (is_abandoned) throw Error("nobody waits for this checkpoint any more");
    if (announce) announce(step);
  };
  return stopping;
}

}  // namespace

Saver::Background::Background(const std::filesystem::path& root, const FolderOptions& options)
    : folder(root, stopping_when(is_abandoned, options)) {}

Saver::Saver(std::filesystem::path root, FolderOptions options, SaveMode mode, std::chrono::milliseconds longest_wait)
    : root_(std::move(root)),
      options_(std::move(options)),
      mode_(mode),
      longest_wait_(longest_wait),
      background_(std::make_shared<Background>(root_, options_)) {}

Saver::~Saver() {
  try {
    wait();
  } catch (const std::exception& error) {
    Logger().error(error.what());
  }
}

void Saver::prepare(const Contents& contents) {
  if (mode_ == SaveMode::kBlocking) return;
  wait();
  make_copies_fit(contents);
  run_in_background([](Background& background) {  // memory is real only when it has been written to
    for (const auto* tensors : {&background.copies.model, &background.copies.optimizer})
      for (const auto& [name, tensor] : *tensors) tensor.fill_zero();
  });
}

void Saver::save(std::int64_t step, const Contents& contents, nlohmann::json state) {
  if (mode_ == SaveMode::kBlocking) {
    background_->folder.save(step, contents, state);
    return;
  }
  wait();
  make_copies_fit(contents);
  Contents& copies = background_->copies;
  for (const auto& [from, to] : {std::pair(&contents.model, &copies.model), {&contents.optimizer, &copies.optimizer}})
    for (std::size_t i = 0; i < from->size(); ++i) (*to)[i].tensor.copy_from((*from)[i].tensor);
  step_ = step;
  run_in_background([step, state = std::move(state)](Background& background) {
    background.folder.save(step, background.copies, state);
  });
}

void Saver::finish() {
  wait();
  background_->folder.tidy();
}

void Saver::run_in_background(std::function<void(Background&)> work) {
  std::packaged_task<void()> task([work = std::move(work), background = background_] { work(*background); });
  running_ = task.get_future();
  writer_ = std::thread(std::move(task));
}

void Saver::wait() {
  if (!running_.valid()) return;
  if (running_.wait_for(longest_wait_) == std::future_status::timeout) {
    background_->is_abandoned = true;
    background_ = std::make_shared<Background>(root_, options_);
    running_ = {};
    writer_.detach();
    throw TimeoutError(concat("the checkpoint of step ", step_, ", saved in the background in ", root_.string(),
                              ", is not on disk after ", format_seconds(longest_wait_),
                              " of waiting; see whether the disk still answers"));
  }
  writer_.join();
  try {
    running_.get();
  } catch (const std::exception& error) {
    throw IoError(concat("the checkpoint of step ", step_, ", saved in the background, failed: ", error.what()));
  }
}

void Saver::make_copies_fit(const Contents& contents) {
  make_room(contents.model, background_->copies.model);
  make_room(contents.optimizer, background_->copies.optimizer);
}

}  // namespace lockstep::checkpoint
