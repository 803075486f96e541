#include "report/html_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "report/model/report_model.h"
#include "report/report_sections.h"
#include "report/web_bundle.h"

namespace assay::report {
namespace {

void WriteMeta(Markup& html, std::string_view title) {
  html.Empty("meta", {{"charset", "utf-8"}});
  html.Empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  html.Empty("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
  html.Element("title", title);
}

/// Nothing is loaded, and nothing runs but the script of the page.
std::string PolicyOfFile() {
  return fmt::format(
      "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'; "
      "require-trusted-types-for 'script'",
      WebScriptHash(), WebStyleHash());
}

/// In a script element "<" could end it.
std::string JsonForScript(const nlohmann::json& json) {
  const std::string text = DumpJson(json);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    safe += c == '<' ? std::string_view("\\u003c") : std::string_view(&c, 1);
  }
  return safe;
}

void WriteJson(Markup& html, const std::string& id, const nlohmann::json& json) {
  html.Open("script", {{"type", "application/json"}, {"id", id}}).Raw(JsonForScript(json)).Close();
}

/// Those of `row` that are there, by their names.
nlohmann::json Named(const nlohmann::json& names, nlohmann::json& row) {
  nlohmann::json named = nlohmann::json::object();
  for (size_t i = 0; i < row.size(); ++i) {
    if (!row[i].is_null()) {
      named[names[i].get_ref<const std::string&>()] = std::move(row[i]);
    }
  }
  return named;
}

/// Takes what is read only once a run is looked at out of the model: each run as RunDetails() has it, by its uid.
nlohmann::json TakeRuns(nlohmann::json& model) {
  nlohmann::json& all = model["runs"];
  nlohmann::json runs = nlohmann::json::object();
  for (auto& [uid, values] : all["values"].items()) {
    runs[uid] = {{"values", Named(all["targets"], values)},
                 {"told", Named(all["provenance"], all["told"][uid])},
                 {"series", std::move(all["series"][uid])},
                 {"lanes", std::move(all["lanes"][uid])}};
  }
  for (const char* details : {"values", "told", "series", "lanes"}) {
    all.erase(details);
  }
  return runs;
}

void WriteModel(Markup& html, nlohmann::json model) {
  const nlohmann::json runs = TakeRuns(model);
  WriteJson(html, "model", model);
  WriteJson(html, "runs", runs);
}

/// What only a reader without script needs: with one, the views have it.
void WriteWithoutScript(Markup& html, const ReportContent& content) {
  html.Open("noscript");
  WriteCostModel(html, content);
  WriteCrossings(html, content);
  WriteBreakdowns(html, content);
  WritePublished(html, content);
  html.Close();
}

void WriteStatic(Markup& html, const ReportContent& content) {
  html.Open("main", {{"id", "static"}});
  WriteHeader(html, content);
  WriteFindings(html, content);
  WriteTable(html, content);
  WriteWithoutScript(html, content);
  WriteReadingHelp(html, content);
  html.Close();
}

}  // namespace

std::string RenderHtmlReport(const ReportInput& input) {
  const ReportContent content(input);
  const std::string made = input.generated_at.empty() ? UtcTimestamp() : input.generated_at;
  Markup html;
  html.Raw("<!DOCTYPE html>\n").Open("html", {{"lang", "en"}}).Open("head");
  html.Empty("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", PolicyOfFile()}});
  WriteMeta(html, input.title);
  html.Open("style").Raw(WebStyle()).Close().Close();
  html.Open("body");
  WriteStatic(html, content);
  html.Open("footer").Element("p", fmt::format("Made by assay on {}.", made)).Close();
  WriteModel(html, ReportModel(content));
  html.Open("script").Raw(WebScript()).Close().Close().Close();
  return std::move(html).Finish() + "\n";
}

std::string RenderServedPage() {
  Markup html;
  html.Raw("<!DOCTYPE html>\n").Open("html", {{"lang", "en"}}).Open("head");
  WriteMeta(html, "assay");
  html.Empty("link", {{"rel", "icon"}, {"href", "data:,"}});
  html.Empty("link", {{"rel", "stylesheet"}, {"href", "/assets/report.css"}});
  html.Open("script", {{"src", "/assets/report.js"}, {"defer", "defer"}}).Close().Close();
  html.Open("body", {{"data-api", "/api/v1/"}}).Open("main", {{"id", "static"}}).Element("h1", "assay");
  html.Element("p", "The store is being read.", {{"id", "waiting"}});
  html.Open("noscript")
      .Element("p",
               "This page follows the store with a script. Without one, assay report writes a page "
               "that is read as it stands.");
  html.Close().Close().Close().Close();
  return std::move(html).Finish() + "\n";
}

}  // namespace assay::report
