// break_it <attack>: plays one attack on a server of this chapter and reports whether it held and which layer of the
// project defends against it. Starts the server, plays all its clients, and leaves nothing running.
#include <iostream>
#include <string>

#include "01_mini_all_reduce/attacks.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/terminal.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::star;

int list() {
  for (const Attack& attack : attacks()) {
    std::cout << attack.name << std::string(12 - attack.name.size(), ' ') << attack.what_happens << '\n';
  }
  return 0;
}

int run(const std::string& name, const std::string& server) {
  const Attack& attack = attack_named(name);
  const bool is_naive = server == "naive";
  const Verdict verdict = play(attack, is_naive ? ServerKind::kNaive : ServerKind::kChecked, std::cout);
  std::cout << wrap_words(concat(verdict.holds ? "HOLDS: " : "BREAKS: ", verdict.text, "\nanswer: ", attack.answer, " (",
                                 attack.layer, ")\n"),
                          80, 2);
  // The naive server should break and the checked one hold; anything else is a failure of this program.
  return verdict.holds == !is_naive ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Plays an attack on naive_server, or on the server that withstands them all");
  std::string attack, server = "naive";
  bool shall_list = false;
  app.add_option("attack", attack, "The attack to play; --list shows them all");
  app.add_option("--server", server, "The server to attack")
      .check(one_of({"naive", "checked"}));
  app.add_flag("--list", shall_list, "Lists the attacks");
  return run_main(app, argc, argv, [&] {
    if (shall_list) return list();
    if (attack.empty()) throw UsageError("name an attack; --list shows them all");
    return run(attack, server);
  });
}
