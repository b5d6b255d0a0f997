#pragma once
/// @file
/// A case's state between commands, in .lockstep/cases/ID.json.
#include <string>

#include "exercise/detective_case.hpp"

namespace lockstep::exercise {

struct CaseRecord {
  int wrong_answers = 0;  ///< Equals the number of pieces of evidence shown.
  bool is_solved = false;
};

/// @return  An empty record if there is none. @param root  The project's root.
[[nodiscard]] CaseRecord read_case_record(const std::filesystem::path& root, const DetectiveCase& detective_case);
/// @throws IoError  It cannot be written.
void write_case_record(const std::filesystem::path& root, const DetectiveCase& detective_case,
                       const CaseRecord& record);

/// "solved", "2 wrong answers", or empty.
[[nodiscard]] std::string state_text(const CaseRecord& record);

/// One line per case: id, title, state. @param chapter  Only its cases; empty: all.
[[nodiscard]] std::string case_list(const std::filesystem::path& root, const std::vector<DetectiveCase>& cases,
                                    const std::string& chapter);

}  // namespace lockstep::exercise
