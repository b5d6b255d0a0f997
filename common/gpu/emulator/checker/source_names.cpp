#include "emulator/checker/source_names.hpp"

namespace lockstep::emulator::checker {

FindingPlace to_finding_place(SourcePlace place) { return {place.file == nullptr ? "" : place.file, place.line}; }

void SourceNames::set_kernel(const KernelCall* call) {
  call_ = call;
  kernel_.clear();
}

const std::string& SourceNames::kernel() {
  if (kernel_.empty() && call_ != nullptr) {
    kernel_ = call_->name != nullptr       ? call_->name
              : call_->function != nullptr ? symbolizer_.function_name(call_->function)
                                           : "";
    if (kernel_.empty()) kernel_ = "(unnamed)";
  }
  return kernel_;
}

FindingPlace SourceNames::place_of(Site site) {
  if (site < Sites::kFirstAddress) return to_finding_place(sites_.place(site));
  const Frame& frame = symbolizer_.user_frame(site);
  return {frame.file, frame.line};
}

}  // namespace lockstep::emulator::checker
