#include "report/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "report/testing/synthetic.h"

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

// The figure with that id.
std::string FigureOf(const std::string& html, const std::string& id) {
  const size_t begin = html.find("<figure id=\"" + id + "\"");
  return begin == std::string::npos ? "" : html.substr(begin, html.find("</figure>", begin) - begin);
}

// The section with that id.
std::string SectionOf(const std::string& html, const std::string& id) {
  const size_t begin = html.find("<section id=\"" + id + "\"");
  return begin == std::string::npos ? "" : html.substr(begin, html.find("</section>", begin) - begin);
}

// In the warm-up a row may be cut before its first supervised token.
TEST(HtmlReportTest, AStepWithoutLossIsNoPointOfTheCurve) {
  Measurement measurement = DemoSpace().front();
  measurement.series["loss"] = {std::nan(""), 3, 2};
  const std::string figure = FigureOf(Render({measurement}), "loss");
  EXPECT_THAT(figure, HasSubstr("loss 3 at step 2, 2 at step 3"));
  EXPECT_THAT(figure, Not(HasSubstr("nan")));
}

TEST(HtmlReportTest, HoldsEveryPartAndEveryChart) {
  const std::string html = Render(DemoSpace());
  for (const char* id : {"findings", "charts", "results", "details", "help"}) {
    EXPECT_THAT(html, HasSubstr("<section id=\"" + std::string(id) + "\"")) << id;
  }
  for (const char* id :
       {"throughput-by-batch-size", "throughput-by-max-length", "tensor-memory-by-batch-size",
        "tensor-memory-by-max-length", "resident-memory-by-batch-size", "resident-memory-by-max-length",
        "step-time-by-batch-size", "step-time", "loss", "utilization"}) {
    EXPECT_THAT(FigureOf(html, id), HasSubstr("<svg ")) << id;
  }
  EXPECT_THAT(html, HasSubstr("Example CPU 8481C @ 2.70GHz"));
  EXPECT_THAT(html, HasSubstr("2026-01-31 12:00:01 UTC to 2026-01-31 12:00:08 UTC"));
  EXPECT_THAT(html, HasSubstr("1fed3b0"));
  EXPECT_THAT(html, HasSubstr("<dt>Weights</dt><dd>random</dd>"));
  EXPECT_THAT(html, HasSubstr("<dt>Tokenizer</dt><dd>/share/tokenizers/assay-8k</dd>"));
}

TEST(HtmlReportTest, IsSigned) {
  EXPECT_THAT(Render({}), HasSubstr(std::string(kSignature)));
}

TEST(HtmlReportTest, AxesHaveUnits) {
  const std::string html = Render(DemoSpace());
  EXPECT_THAT(FigureOf(html, "throughput-by-batch-size"), HasSubstr("class=\"unit\">real tokens/s</text>"));
  EXPECT_THAT(FigureOf(html, "tensor-memory-by-max-length"), HasSubstr("class=\"unit\">GiB</text>"));
  EXPECT_THAT(FigureOf(html, "step-time"), HasSubstr("class=\"unit\">seconds a step</text>"));
}

TEST(HtmlReportTest, WhiskersStandWhereThereAreIntervals) {
  std::vector<Measurement> measurements = DemoSpace();
  EXPECT_EQ(CountOf(FigureOf(Render(measurements), "throughput-by-batch-size"), "class=\"whisker\""), 8u);
  for (Measurement& measurement : measurements) {
    measurement.properties.erase("real_tokens_per_second_ci_low");
  }
  EXPECT_EQ(CountOf(FigureOf(Render(measurements), "throughput-by-batch-size"), "class=\"whisker\""), 0u);
  measurements[2].properties["real_tokens_per_second_ci_low"] = 1.0;
  measurements[2].properties["real_tokens_per_second_ci_high"] = 2e3;
  EXPECT_EQ(CountOf(FigureOf(Render(measurements), "throughput-by-batch-size"), "class=\"whisker\""), 1u);
}

TEST(HtmlReportTest, ShowsInvalidAndFailedPointsAsSuch) {
  std::vector<Measurement> measurements = DemoSpace();
  measurements[3] = MakeInvalid({.method = "full", .max_length = 256, .batch_size = 4}, "out of <memory>");
  measurements[6] = MakeFailed({.method = "lora", .max_length = 256, .batch_size = 1}, "killed by signal 9");
  const std::string html = Render(measurements);
  const std::string figure = FigureOf(html, "throughput-by-batch-size");
  EXPECT_EQ(CountOf(figure, "class=\"invalid\""), 2u) << "one point and the legend";
  EXPECT_EQ(CountOf(figure, "class=\"failed\""), 2u);
  EXPECT_THAT(html, HasSubstr("out of &lt;memory&gt;"));
  EXPECT_THAT(html, Not(HasSubstr("<memory>")));
  EXPECT_THAT(html, HasSubstr("data-outcome=\"failed\""));
}

TEST(HtmlReportTest, EscapesWhatUsersName) {
  std::vector<Measurement> measurements = {MakeValid({.model = "<script>alert(1)</script>"}), MakeValid({})};
  const std::string html = Render(measurements, "A & B </title><img src=x>");
  EXPECT_EQ(CountOf(html, "<script>"), 1u) << "ours";
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("<title>A &amp; B &lt;/title&gt;&lt;img src=x&gt;</title>"));
}

TEST(HtmlReportTest, RefersToNothingOutside) {
  const std::string html = Render(DemoSpace());
  EXPECT_THAT(html, Not(HasSubstr("http://")));
  EXPECT_THAT(html, Not(HasSubstr("https://")));
  EXPECT_THAT(html, Not(ContainsRegex("src=|@import|url\\(")));
}

TEST(HtmlReportTest, EmptyInputMakesAPage) {
  const std::string html = Render({});
  EXPECT_THAT(html, HasSubstr("Nothing has been measured yet."));
  EXPECT_THAT(html, Not(HasSubstr("<figure")));
  EXPECT_THAT(html, Not(HasSubstr("<table")));
}

TEST(HtmlReportTest, OnlyFailedPointsMakeAPageWithReasons) {
  const std::string html = Render({MakeFailed({}, "the worker vanished"), MakeInvalid({.batch_size = 8}, "no memory")});
  EXPECT_THAT(html, HasSubstr("No configuration could be measured: 1 invalid, 1 failed."));
  EXPECT_THAT(html, HasSubstr("the worker vanished"));
  EXPECT_THAT(html, Not(HasSubstr("<figure")));
}

TEST(HtmlReportTest, SpacesWithoutBatchSizesAreRanked) {
  std::vector<Measurement> measurements = {MakeValid({.method = "full"}), MakeValid({.method = "lora"})};
  const std::string html = Render(measurements);
  EXPECT_EQ(FigureOf(html, "throughput-by-batch-size"), "");
  EXPECT_THAT(FigureOf(html, "throughput"), HasSubstr("class=\"bar\""));
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
  const std::string memory = SectionOf(html, "memory");
  EXPECT_THAT(memory, HasSubstr("<a href=\"#p2\">"));
  for (const char* cell : {">2,048</td>", ">1,946</td>", ">-5.0</td>", ">330</td>"}) {
    EXPECT_THAT(memory, HasSubstr(cell));
  }
  EXPECT_THAT(memory, Not(HasSubstr("buckets"))) << "a column of zeros says nothing";
  EXPECT_EQ(CountOf(memory, "<tr>"), 2u) << "a run without a ledger has no row";
  const std::string time = SectionOf(html, "time");
  EXPECT_THAT(time, HasSubstr(">500</td>"));
  EXPECT_THAT(time, HasSubstr(">125</td>"));
  EXPECT_THAT(time, HasSubstr(">3.50</td>"));
  EXPECT_EQ(SectionOf(Render(DemoSpace()), "memory"), "");
}

TEST(HtmlReportTest, RunsThatWaitedForAProcessorAreMarked) {
  Measurement starved = MakeValid({.batch_size = 8});
  starved.provenance["starved"] = "waited for a processor for 4.00 s of 10.0 s";
  const std::string alone = Render({starved, MakeValid({.batch_size = 4})});
  EXPECT_THAT(SectionOf(alone, "results"), HasSubstr(">waited for processors</small>"));
  EXPECT_THAT(SectionOf(alone, "details"), HasSubstr(">starved: waited for a processor for 4.00 s of 10.0 s</p>"));
  const std::string beside = Render({starved, MakeValid({.batch_size = 8})});
  EXPECT_THAT(SectionOf(beside, "results"), Not(HasSubstr("waited for processors")));
  EXPECT_THAT(SectionOf(beside, "details"), HasSubstr("of 10.0 s; left out of the means</p>"));
}

TEST(HtmlReportTest, UseOfTheMachineIsThatOfARunThatCounts) {
  const Measurement counted = MakeValid({.seed = 1});
  Measurement starved = MakeValid({.seed = 2});
  starved.provenance["starved"] = "waited for a processor for 4.00 s of 10.0 s";
  const std::string of_counted = FigureOf(Render({counted}), "utilization");
  EXPECT_NE(of_counted, "");
  EXPECT_NE(of_counted, FigureOf(Render({starved}), "utilization"));
  EXPECT_EQ(of_counted, FigureOf(Render({counted, starved}), "utilization"));
}

TEST(HtmlReportTest, TellsHowMuchOfTheSpaceWasMeasured) {
  const std::vector<Measurement> measurements = DemoSpace();
  ReportInput input;
  input.title = "Demo";
  input.measurements = measurements;
  input.planned_points = 12;
  const std::string html = RenderHtmlReport(input);
  EXPECT_THAT(html, HasSubstr("8 of 12 points: 8 valid"));
}

TEST(HtmlReportTest, ALineThroughTwoPointsHasNoFit) {
  const std::string two = SectionOf(Render(DemoSpace()), "cost");
  EXPECT_THAT(two, Not(HasSubstr("1.0000"))) << "any two points lie on a line";
  std::vector<Measurement> measurements = DemoSpace();
  for (const char* method : {"full", "lora"}) {
    for (int64_t length : {128, 256}) {
      measurements.push_back(MakeValid({.method = method, .max_length = length, .batch_size = 2}));
    }
  }
  EXPECT_THAT(SectionOf(Render(measurements), "cost"), ContainsRegex(">(1.0000|0.9[0-9]*)</td>"));
}

TEST(HtmlReportTest, LongSeriesAreThinned) {
  const std::string html = Render({MakeValid({.steps = 20000})});
  EXPECT_LT(html.size(), 200u * 1024);
}

}  // namespace
}  // namespace assay::report
