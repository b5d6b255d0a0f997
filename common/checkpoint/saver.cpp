#include "checkpoint/saver.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"

namespace lockstep::checkpoint {

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
  make_room(contents.model, copies_.model);
  make_room(contents.optimizer, copies_.optimizer);
  writer_ = std::thread([this] {  // memory is real only when it has been written to
    for (const auto* tensors : {&copies_.model, &copies_.optimizer})
      for (const auto& [name, tensor] : *tensors) tensor.fill_zero();
  });
}

void Saver::save(std::int64_t step, const Contents& contents, nlohmann::json state) {
  if (mode_ == SaveMode::kBlocking) {
    folder_.save(step, contents, state);
    return;
  }
  wait();
  make_room(contents.model, copies_.model);
  make_room(contents.optimizer, copies_.optimizer);
  for (const auto& [from, to] : {std::pair(&contents.model, &copies_.model), {&contents.optimizer, &copies_.optimizer}})
    for (std::size_t i = 0; i < from->size(); ++i) (*to)[i].tensor.copy_from((*from)[i].tensor);
  step_ = step;
  writer_ = std::thread([this, state = std::move(state)] {
    try {
      folder_.save(step_, copies_, state);
    } catch (...) {
      error_ = std::current_exception();
    }
  });
}

void Saver::finish() {
  wait();
  folder_.tidy();
}

void Saver::wait() {
  if (writer_.joinable()) writer_.join();
  if (!error_) return;
  try {
    std::rethrow_exception(std::exchange(error_, nullptr));
  } catch (const std::exception& error) {
    throw IoError(concat("the checkpoint of step ", step_, ", saved in the background, failed: ", error.what()));
  }
}

void Saver::make_room(const std::vector<NamedTensor>& from, std::vector<NamedTensor>& to) {
  const auto fits = [](const NamedTensor& a, const NamedTensor& b) {
    return a.name == b.name && a.tensor.shape() == b.tensor.shape() && a.tensor.dtype() == b.tensor.dtype();
  };
  if (std::ranges::equal(from, to, fits)) return;
  to.clear();
  for (const auto& [name, tensor] : from) to.push_back({name, Tensor::empty(tensor.shape(), tensor.dtype())});
}

}  // namespace lockstep::checkpoint
