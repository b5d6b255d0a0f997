#include "fuzz/targets.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/error.hpp"
#include "fuzz/checkpoint_targets.hpp"
#include "fuzz/comm_targets.hpp"
#include "fuzz/data_targets.hpp"
#include "fuzz/emulator_targets.hpp"
#include "fuzz/net_targets.hpp"
#include "fuzz/store_targets.hpp"

namespace lockstep::fuzz {

std::span<const Target> targets() {
  static constexpr std::array kTargets = {
      Target{"frame", run_frame, frame_seeds},
      Target{"frame_stream", run_frame_stream, frame_stream_seeds},
      Target{"handshake", run_handshake, handshake_seeds},
      Target{"token", run_token, token_seeds},
      Target{"store_protocol", run_store_protocol, store_protocol_seeds},
      Target{"file_log", run_file_log, file_log_seeds},
      Target{"fingerprint", run_fingerprint, fingerprint_seeds},
      Target{"control_wire", run_control_wire, control_wire_seeds},
      Target{"control_hub", run_control_hub, control_hub_seeds},
      Target{"init_method", run_init_method, init_method_seeds},
      Target{"token_file", run_token_file, token_file_seeds},
      Target{"tokenizer_model", run_tokenizer_model, tokenizer_model_seeds},
      Target{"tokenizer_text", run_tokenizer_text, tokenizer_text_seeds},
      Target{"byte_pair_files", run_byte_pair_files, byte_pair_files_seeds},
      Target{"safetensors", run_safetensors, safetensors_seeds},
      Target{"manifest", run_manifest, manifest_seeds},
      Target{"saved_state", run_saved_state, saved_state_seeds},
      Target{"cuda_source", run_cuda_source, cuda_source_seeds},
  };
  return kTargets;
}

const Target& target_named(std::string_view name) {
  const auto found = std::ranges::find(targets(), name, &Target::name);
  if (found != targets().end()) return *found;
  std::string known;
  for (const Target& target : targets()) known += concat(known.empty() ? "" : ", ", target.name);
  throw ContractError(concat("there is no fuzz target ", name, "; there are ", known));
}

void finding_unless(bool is_as_it_must_be, const char* what) {
  if (!is_as_it_must_be) throw std::logic_error(what);
}

}  // namespace lockstep::fuzz
