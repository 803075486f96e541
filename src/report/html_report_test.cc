#include "report/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "report/report_sections.h"
#include "report/testing/synthetic.h"
#include "report/web_bundle.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using ::testing::ContainsRegex;
using testing::DemoSpace;
using ::testing::HasSubstr;
using testing::MakeFailed;
using testing::MakeInvalid;
using testing::MakeValid;
using ::testing::Not;

std::string Render(const std::vector<Measurement>& measurements, std::string title = "Demo") {
  return RenderHtmlReport(
      {.title = std::move(title), .space_description = "", .measurements = measurements, .generated_at = "today"});
}

size_t CountOf(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) {
    ++count;
  }
  return count;
}

/// The page up to its model: what stands without script.
std::string StaticPart(const std::string& html) {
  const size_t begin = html.find("<body>");
  return html.substr(begin, html.find("<script", begin) - begin);
}

// The section that begins with that heading.
std::string SectionOf(const std::string& html, const std::string& heading) {
  const size_t begin = html.find("<h2>" + heading + "</h2>");
  return begin == std::string::npos ? "" : html.substr(begin, html.find("</section>", begin) - begin);
}

/// What the script reads of the page under that name.
nlohmann::json JsonOf(const std::string& html, const std::string& id) {
  const std::string opening = "<script type=\"application/json\" id=\"" + id + "\">";
  const size_t begin = html.find(opening) + opening.size();
  return ParseJson(html.substr(begin, html.find("</script>", begin) - begin), "page").value();
}

TEST(HtmlReportTest, ValuesWithoutScriptSayOfHowManyRunsTheyAre) {
  const auto table_of = [](const std::vector<double>& speeds) {
    std::vector<Measurement> runs(speeds.size(), MakeValid({}));
    for (size_t i = 0; i < runs.size(); ++i) {
      runs[i].uid = std::to_string(i);
      runs[i].properties["real_tokens_per_second"] = speeds[i];
    }
    return SectionOf(StaticPart(Render(runs)), "Results");
  };
  EXPECT_THAT(table_of({100}), HasSubstr(", 24 steps</small>"));
  EXPECT_THAT(table_of({100, 104}), HasSubstr("<small title=\"mean of 2 runs, no interval below 3\">n 2</small>"));
  EXPECT_THAT(table_of({100, 101, 102}), HasSubstr(">\u00b12.48, n 3</small>"));
  EXPECT_THAT(table_of({1, 5, 1.2}), HasSubstr(">0 to 8.00, n 3</small>"));
}

TEST(HtmlReportTest, TitleFindingsAndTableStandWithoutScript) {
  const std::string html = StaticPart(Render(DemoSpace()));
  EXPECT_THAT(html, HasSubstr("<h1>Demo</h1>"));
  EXPECT_THAT(SectionOf(html, "Findings"), HasSubstr("Fastest: lora, max length 256, batch size 4"));
  EXPECT_EQ(CountOf(SectionOf(html, "Results"), "<tr data-state=\"valid\">"), 8u);
  EXPECT_THAT(html, HasSubstr("Example CPU 8481C @ 2.70GHz"));
  EXPECT_THAT(html, HasSubstr("2026-01-31 12:00:01 UTC to 2026-01-31 12:00:08 UTC"));
  EXPECT_THAT(html, HasSubstr("1fed3b0"));
  EXPECT_THAT(html, HasSubstr("<dt>Weights</dt><dd>random</dd>"));
  EXPECT_THAT(html, HasSubstr("<dt>Tokenizer</dt><dd>/share/tokenizers/assay-8k</dd>"));
}

TEST(HtmlReportTest, WhatTheScriptShowsAsItIsIsWhatStandsWithoutIt) {
  const nlohmann::json page = JsonOf(Render(testing::VitSpace(349)), "model").at("page");
  const std::string findings = page.at("overview").dump();
  EXPECT_THAT(page.at("header").dump(), HasSubstr("349 configurations"));
  EXPECT_THAT(findings, HasSubstr(" valid"));
  EXPECT_THAT(findings, HasSubstr("Fastest: "));
  EXPECT_THAT(findings, ContainsRegex(R"("summary",\{\},"[0-9]+ more")"));
  EXPECT_THAT(findings, HasSubstr(R"(\"view\":\"compare\")")) << "each leads to what it tells of";
  EXPECT_THAT(page.at("crossings").dump(), HasSubstr("is faster than"));
}

TEST(HtmlReportTest, IsSigned) {
  EXPECT_THAT(Render({}), HasSubstr(std::string(kSignature)));
}

TEST(HtmlReportTest, HoldsTheModelThatItsScriptReads) {
  const std::string html = Render(DemoSpace());
  EXPECT_EQ(JsonOf(html, "model").at("configurations").at("count"), 8);
  EXPECT_THAT(html, HasSubstr(WebScript()));
  EXPECT_THAT(html, HasSubstr(WebStyle()));
}

TEST(HtmlReportTest, LetsNothingRunButItsScript) {
  const std::string html = Render(DemoSpace());
  EXPECT_THAT(std::string(WebScriptHash()), ContainsRegex("^sha256-[A-Za-z0-9+/]+=$"));
  EXPECT_THAT(html, HasSubstr("default-src &#39;none&#39;; script-src &#39;" + std::string(WebScriptHash())));
  EXPECT_THAT(html, HasSubstr("require-trusted-types-for &#39;script&#39;"));
  EXPECT_EQ(CountOf(StaticPart(html), " style=\""), 0u) << "the policy would refuse it";
}

TEST(HtmlReportTest, PointsWithoutValuesAreInTheTableWithTheirReasons) {
  const std::string html =
      StaticPart(Render({MakeValid({.batch_size = 1}), MakeInvalid({.batch_size = 2}, "out of memory: <a lot>"),
                         MakeFailed({.batch_size = 4}, "killed")}));
  EXPECT_THAT(html, HasSubstr("<tr data-state=\"out_of_memory\">"));
  EXPECT_THAT(html, HasSubstr("out of memory: &lt;a lot&gt;"));
  EXPECT_THAT(html, Not(HasSubstr("<a lot>")));
  EXPECT_THAT(html, HasSubstr("<tr data-state=\"failed\">"));
}

TEST(HtmlReportTest, EscapesWhatUsersName) {
  const std::vector<Measurement> measurements = {MakeValid({.model = "</script><script>alert(1)</script>"}),
                                                 MakeValid({})};
  const std::string html = Render(measurements, "A & B </title><img src=x>");
  EXPECT_EQ(CountOf(html, "<script"), 3u) << "the model, its runs and ours";
  EXPECT_EQ(CountOf(html, "<img"), 0u);
  EXPECT_THAT(html, HasSubstr("<title>A &amp; B &lt;/title&gt;&lt;img src=x&gt;</title>"));
}

TEST(HtmlReportTest, EmptyInputMakesAPage) {
  const std::string html = StaticPart(Render({}));
  EXPECT_THAT(html, HasSubstr("Nothing has been measured yet."));
  EXPECT_THAT(html, Not(HasSubstr("<table")));
}

TEST(HtmlReportTest, OnlyFailedPointsMakeAPageWithReasons) {
  const std::string html =
      StaticPart(Render({MakeFailed({}, "the worker vanished"), MakeInvalid({.batch_size = 8}, "no memory")}));
  EXPECT_THAT(html, HasSubstr("No configuration could be measured: 1 invalid, 1 failed."));
  EXPECT_THAT(html, HasSubstr("the worker vanished"));
}

TEST(HtmlReportTest, PartsOfMemoryAndTimeStandBesideWhatWasPredicted) {
  Measurement run = MakeValid({.batch_size = 8});
  constexpr int64_t kMib = 1024 * 1024;
  run.properties["peak_tensor_bytes"] = 2048 * kMib;
  run.properties["predicted_peak_bytes"] = 1946 * kMib;
  run.properties["ledger_parameters_bytes"] = 330 * kMib;
  run.properties["ledger_buckets_bytes"] = int64_t{0};
  run.properties["step_seconds_median"] = 0.5;
  run.properties["exposed_communication_seconds"] = 0.125;
  run.properties["all_reduce_bus_gb_per_s"] = 3.5;
  const std::string html = Render({run, MakeValid({.batch_size = 4})});
  const std::string memory = SectionOf(html, "Where the memory goes");
  for (const char* cell : {">2,048</td>", ">1,946</td>", ">-5.0</td>", ">330</td>"}) {
    EXPECT_THAT(memory, HasSubstr(cell));
  }
  EXPECT_THAT(memory, HasSubstr("<td class=\"n\">1</td>")) << "of how many runs they are";
  EXPECT_THAT(memory, Not(HasSubstr("buckets"))) << "a column of zeros says nothing";
  EXPECT_EQ(CountOf(memory, "<tr>"), 2u) << "a run without a ledger has no row";
  const std::string time = SectionOf(html, "Where the time goes");
  EXPECT_THAT(time, HasSubstr(">500</td>"));
  EXPECT_THAT(time, HasSubstr(">125</td>"));
  EXPECT_THAT(time, HasSubstr(">3.50</td>"));
  EXPECT_EQ(SectionOf(Render(DemoSpace()), "Where the memory goes"), "");
}

TEST(HtmlReportTest, RunsThatWaitedForAProcessorAreMarked) {
  Measurement starved = MakeValid({.batch_size = 8});
  starved.provenance["starved"] = "waited for a processor for 4.00 s of 10.0 s";
  const std::string alone = Render({starved, MakeValid({.batch_size = 4})});
  EXPECT_THAT(SectionOf(alone, "Results"), HasSubstr(">waited for processors</small>"));
  const std::string beside = Render({starved, MakeValid({.batch_size = 8})});
  EXPECT_THAT(SectionOf(beside, "Results"), Not(HasSubstr("waited for processors")));
}

TEST(HtmlReportTest, TellsHowMuchOfTheSpaceWasMeasured) {
  const std::vector<Measurement> measurements = DemoSpace();
  ReportInput input;
  input.title = "Demo";
  input.measurements = measurements;
  input.planned_points = 12;
  EXPECT_THAT(RenderHtmlReport(input), HasSubstr("8 of 12 points: 8 valid"));
}

TEST(HtmlReportTest, ALineThroughTwoPointsHasNoFit) {
  const std::string two = SectionOf(Render(DemoSpace()), "What a step costs");
  EXPECT_THAT(two, Not(HasSubstr("1.0000"))) << "any two points lie on a line";
  std::vector<Measurement> measurements = DemoSpace();
  for (const char* method : {"full", "lora"}) {
    for (int64_t length : {128, 256}) {
      measurements.push_back(MakeValid({.method = method, .max_length = length, .batch_size = 2}));
    }
  }
  EXPECT_THAT(SectionOf(Render(measurements), "What a step costs"), ContainsRegex(">(1.0000|0.9[0-9]*)</td>"));
}

TEST(HtmlReportTest, TablesWithoutScriptEndSomewhere) {
  const std::string html = StaticPart(Render(testing::ManyPoints(1200)));
  EXPECT_EQ(CountOf(SectionOf(html, "Results"), "<tr data-state"), kMostRows);
  EXPECT_THAT(html, HasSubstr("The first 500 of 1,200"));
}

TEST(HtmlReportTest, LongSeriesAreThinned) {
  const size_t without = Render({MakeValid({.steps = 20})}).size();
  EXPECT_LT(Render({MakeValid({.steps = 20000})}).size(), without + 100u * 1024);
}

TEST(HtmlReportTest, TheServedPageHoldsNeitherScriptNorStyle) {
  const std::string html = RenderServedPage();
  EXPECT_THAT(html, HasSubstr("src=\"/assets/report.js\""));
  EXPECT_THAT(html, Not(ContainsRegex("<style|<script>")));
}

}  // namespace
}  // namespace assay::report
