// Grades in the files that Moodle and Canvas import.
#include "grading/gradebooks.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

namespace lockstep::grading {
namespace {

using Catch::Matchers::ContainsSubstring;

// Seven of ten points, from a submission with this name.
PlatformGrade graded(const std::string& name, const std::string& status = "graded") {
  const auto moodle = moodle_name(name);
  PlatformGrade one{.name = moodle ? *moodle : canvas_name(name).value(),
                    .grade = {.key = "k", .student = "S", .status = status}};
  one.grade.exercises = {{.id = "02.1", .title = "T", .points = 7, .max_points = 7, .verdict = "passed"},
                         {.id = "02.2", .title = "T", .points = 0, .max_points = 3, .verdict = "WRONG"}};
  return one;
}

const std::string kWorksheet =
    "\xef\xbb\xbfIdentifier,\"Full name\",\"Email address\",Status,Grade,\"Maximum grade\",\"Grade can be changed\","
    "\"Last modified (submission)\",\"Online text\",\"Last modified (grade)\",\"Feedback comments\"\r\n"
    "\"Participant 11\",\"Ada Lovelace\",ada@example.org,Submitted,,60.00,Yes,-,,-,\r\n"
    "\"Participant 22\",\"=1+1\",bob@example.org,Submitted,,60.00,Yes,-,,\"Friday, 27 November 2026, 2:14 AM\",\"old;\n"
    "feedback\"\r\n"
    "\"Participant 33\",\"Cy \"\"C\"\" Young\",cy@example.org,Submitted,5.00,60.00,Yes,-,,-,\r\n";

const std::string kGradebook =
    "Student,ID,SIS User ID,SIS Login ID,Section,Notes,Lab 1 (101),\"Lab 2, the ring (102)\",Final Score\n"
    ",,,,,,Manual Posting,,\n"
    "    Points Possible,,,,,,60.00,40.00,(read only)\n"
    "\"Lovelace, Ada\",12345,s1,ada,Mon,,1.00,,90\n"
    "\"Brown, Bob\",22,s2,=cmd,Mon,,,,\n";

}  // namespace

TEST_CASE("Moodle's worksheet gets the grades of this class and nothing else", "[grading]") {
  const FilledGradebook filled =
      MoodleWorksheet(kWorksheet)
          .fill({graded("Ada Lovelace_11_assignsubmission_file_"), graded("=1+1_22_assignsubmission_file_"),
                 graded("Group A-Cy C Young_33_assignsubmission_file_", "refused"),
                 graded("Dee_44_assignsubmission_file_"), graded("Team 1_33_assignsubmission_file_"),
                 graded("lovelaceada_12345_6789_submission.zip")});
  CHECK(filled.text ==
        "Identifier,Full name,Grade,Maximum grade,Last modified (grade),Feedback comments\n"
        "Participant 11,Ada Lovelace,42.00,60.00,'-,\"02.1: 7 of 7. 02.2: 0 of 3, WRONG.\"\n"
        "Participant 22,'=1+1,42.00,60.00,\"Friday, 27 November 2026, 2:14 AM\",\"02.1: 7 of 7. 02.2: 0 of 3, "
        "WRONG.\"\n");
  CHECK(filled.filled == 2);
  CHECK(filled.remarks == std::vector<std::string>{
                              "moodle_33 (Group A-Cy C Young): refused", "moodle_44 (Dee): no row has this number",
                              "moodle_33 (Team 1): the row with this number is of Cy \"C\" Young; enter it by hand"});
}

TEST_CASE("feedback for Moodle goes to those whom the worksheet knows, graded or refused", "[grading]") {
  const Files feedback =
      MoodleWorksheet(kWorksheet)
          .fill({graded("Ada ../ Lovelace_11_assignsubmission_file_"),
                 graded("Cy C Young_33_assignsubmission_file_", "refused"), graded("Dee_44_assignsubmission_file_"),
                 graded("Team 1_22_assignsubmission_file_"), graded("=1+1_22_assignsubmission_file_", "SETUP"),
                 graded("lovelaceada_12345_6789_submission.zip")})
          .feedback;
  REQUIRE(feedback.size() == 2);
  CHECK_THAT(feedback.at("moodle_11_assignsubmission_file_/feedback.txt"), ContainsSubstring("S: 7 of 10"));
  CHECK(feedback.contains("moodle_33_assignsubmission_file_/feedback.txt"));
  CHECK(CanvasGradebook(kGradebook, "102").fill({graded("lovelaceada_12345_6789_x.zip")}).feedback.empty());
}

TEST_CASE("grades are scaled before they are rounded", "[grading]") {
  PlatformGrade one = graded("Ada Lovelace_11_assignsubmission_file_");
  one.grade.exercises.clear();
  for (const char* id : {"02.1", "02.2", "02.3"}) {  // a third of ten points each
    ExerciseGrade third{.id = id, .title = "T", .max_points = 10, .verdict = "WRONG"};
    third.checks = {{.name = "a"}, {.name = "b", .verdict = "WRONG"}, {.name = "c", .verdict = "WRONG"}};
    third.points = points_for(third.checks, third.max_points);
    one.grade.exercises.push_back(third);
  }
  CHECK(one.grade.points() == 9.99);
  CHECK_THAT(MoodleWorksheet(kWorksheet).fill({one}).text, ContainsSubstring("Ada Lovelace,20.00,60.00,"));
  const std::string as_ours = "Identifier,Grade,Maximum grade,Last modified (grade)\nParticipant 11,,30.00,-\n";
  CHECK_THAT(MoodleWorksheet(as_ours).fill({one}).text, ContainsSubstring("Participant 11,9.99,30.00,"));
}

TEST_CASE("a worksheet without a column that Moodle needs is refused", "[grading]") {
  CHECK_THROWS_WITH(MoodleWorksheet(""), ContainsSubstring("no column \"Identifier\""));
  CHECK_THROWS_WITH(MoodleWorksheet("Identifier,Bewertung\n"), ContainsSubstring("in English"));
  CHECK_THROWS_WITH(MoodleWorksheet("Identifier,Grade\n"), ContainsSubstring("Last modified (grade)"));
}

TEST_CASE("Canvas' gradebook gets one column of grades", "[grading]") {
  const std::string column = GENERATE("Lab 2, the ring (102)", "102");
  const FilledGradebook filled =
      CanvasGradebook(kGradebook, column)
          .fill({graded("lovelaceada_LATE_12345_6789_submission.zip"), graded("brownbob_22_6790_submission.zip"),
                 graded("youngcy_33_6791_submission.zip"), graded("anon_x7Fq2_6792_submission.zip"),
                 graded("Ada Lovelace_11_assignsubmission_file_")});
  CHECK(filled.text ==
        "Student,ID,SIS User ID,SIS Login ID,Section,\"Lab 2, the ring (102)\"\n"
        "    Points Possible,,,,,40.00\n"
        "\"Lovelace, Ada\",12345,s1,ada,Mon,28.00\n"
        "\"Brown, Bob\",22,s2,'=cmd,Mon,28.00\n");
  CHECK(filled.remarks == std::vector<std::string>{"canvas_33 (youngcy): no row has this number",
                                                   "canvas_anon_x7Fq2 (anon x7Fq2): no row has this number"});
}

TEST_CASE("a gradebook with semicolons and commas in numbers is read, too", "[grading]") {
  const FilledGradebook filled = CanvasGradebook("Student;ID;Section;Lab (7)\nPoints Possible;;;1,50\nA, B;1;x;\n", "")
                                     .fill({graded("ab_1_2_x.zip")});
  CHECK(filled.text == "Student,ID,Section,Lab (7)\nPoints Possible,,,\"1,50\"\n\"A, B\",1,x,1.05\n");
}

TEST_CASE("a maximum of a thousand points is read in every country's way", "[grading]") {
  const std::string possible = GENERATE("1000", "1000.00", "1000,00", "\"1,000.00\"", "\"1.000,00\"", "1000.000");
  INFO(possible);
  const std::string gradebook = "Student\tID\tSection\tLab (7)\nPoints Possible\t\t\t" + possible + "\nA, B\t1\tx\t\n";
  CHECK_THAT(CanvasGradebook(gradebook, "").fill({graded("ab_1_2_x.zip")}).text,
             ContainsSubstring("\"A, B\",1,x,700.00\n"));
}

TEST_CASE("a maximum that can be read in two ways, or not at all, is refused before the grades are filled in",
          "[grading]") {
  const auto canvas = [](const std::string& possible) {
    return CanvasGradebook("Student,ID,Section,Lab (7)\nPoints Possible,,,\"" + possible + "\"\n\"A, B\",1,x,\n", "");
  };
  for (const char* two : {"1,000", "1.000", "12,500"})
    CHECK_THROWS_WITH(canvas(two),
                      ContainsSubstring(std::string("the maximum \"") + two + "\" can be read in two ways"));
  for (const char* no_number : {"1 000", "-5", "1.000,0.0", "60 points", "1e300"})
    CHECK_THROWS_WITH(canvas(no_number), ContainsSubstring("is not a number of points"));
  CHECK_THROWS_AS(MoodleWorksheet("Identifier,Grade,Maximum grade,Last modified (grade)\nP 11,,\"1,000\",-\n"),
                  FormatError);
  const auto points_of = [&](const std::string& possible) {
    const std::string text = canvas(possible).fill({graded("ab_1_2_x.zip")}).text;
    return text.substr(text.rfind(',') + 1);
  };
  CHECK(points_of("1,000,000") == "700000.00\n");
  CHECK(points_of("0,500") == "0.35\n");
  for (const char* none : {"", "-", "(read only)", "0", "0.00"}) CHECK(points_of(none) == "7.00\n");
}

TEST_CASE("a Canvas column must be one of the gradebook's assignments", "[grading]") {
  CHECK_THROWS_WITH(CanvasGradebook(kGradebook, ""), ContainsSubstring("--canvas-column:\n  Lab 1 (101)\n  Lab 2"));
  CHECK_THROWS_WITH(CanvasGradebook(kGradebook, "Lab 1"), ContainsSubstring("no such column"));
  CHECK_THROWS_AS(CanvasGradebook(kGradebook, "Final Score"), UsageError);
  CHECK_THROWS_AS(CanvasGradebook("a,b\n", ""), FormatError);
  CHECK_THROWS_AS(CanvasGradebook("", ""), FormatError);
}

}  // namespace lockstep::grading
