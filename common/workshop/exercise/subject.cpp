#include "exercise/subject.hpp"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "exercise/message.hpp"
#include "exercise/trial_layout.hpp"

namespace lockstep::exercise {

Question::Question(const nlohmann::json& message, const ProgressBoard& board)
    : rank_(message.at("rank")),
      world_size_(message.at("world_size")),
      board_(board),
      values_(std::make_unique<nlohmann::json>(message.at("values"))) {
  for (const int peer : message.at("peers")) {
    links_.emplace(peer, Link(UniqueFd(kFirstLinkFd + peer), peer, &progress(),
                              {.most_at_once = message.at("most_at_once").get<std::size_t>()}));
  }
}

Question::~Question() = default;

Link& Question::link(int peer) {
  const auto found = links_.find(peer);
  require(peer != rank_, "exercise: rank ", rank_, " asks for a connection to itself");
  require(found != links_.end(), "exercise: rank ", rank_, " asks for a connection to rank ", peer,
          ", which is none of ",
          world_size_ == 1 ? "the one rank, 0" : concat("the ", world_size_, " ranks, 0 to ", world_size_ - 1));
  return found->second;
}

LinkCollectives& Question::collectives() {
  if (!collectives_) {
    for (auto& [peer, link] : links_) link.leave_board();
    collectives_.emplace(
        rank_, world_size_, [this](int peer) -> Link& { return link(peer); }, &progress());
  }
  return *collectives_;
}

template <typename T>
T Question::get(const std::string& name) const {
  return values_->at(name).get<T>();
}

template <typename T>
std::vector<T> Question::numbers(const std::string& name) const {
  return numbers_in<T>(values_->at(name));
}

Answer::Answer() : values_(std::make_unique<nlohmann::json>(nlohmann::json::object())) {}
Answer::~Answer() = default;
Answer::Answer(Answer&&) noexcept = default;
Answer& Answer::operator=(Answer&&) noexcept = default;

template <typename T>
void Answer::set(const std::string& name, const T& value) {
  (*values_)[name] = value;
}

template <typename T>
void Answer::set_numbers(const std::string& name, std::span<const T> values) {
  (*values_)[name] = to_message(values);
}

template int Question::get(const std::string&) const;
template std::int64_t Question::get(const std::string&) const;
template std::uint64_t Question::get(const std::string&) const;
template double Question::get(const std::string&) const;
template bool Question::get(const std::string&) const;
template std::string Question::get(const std::string&) const;
template std::vector<float> Question::numbers(const std::string&) const;
template std::vector<double> Question::numbers(const std::string&) const;
template std::vector<std::int32_t> Question::numbers(const std::string&) const;
template std::vector<std::int64_t> Question::numbers(const std::string&) const;
template std::vector<std::uint8_t> Question::numbers(const std::string&) const;
template void Answer::set(const std::string&, const int&);
template void Answer::set(const std::string&, const std::int64_t&);
template void Answer::set(const std::string&, const std::uint64_t&);
template void Answer::set(const std::string&, const double&);
template void Answer::set(const std::string&, const bool&);
template void Answer::set(const std::string&, const std::string&);
template void Answer::set_numbers(const std::string&, std::span<const float>);
template void Answer::set_numbers(const std::string&, std::span<const double>);
template void Answer::set_numbers(const std::string&, std::span<const std::int32_t>);
template void Answer::set_numbers(const std::string&, std::span<const std::int64_t>);
template void Answer::set_numbers(const std::string&, std::span<const std::uint8_t>);

}  // namespace lockstep::exercise
