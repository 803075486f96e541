#include <fmt/format.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/terminal.h"
#include "base/text.h"
#include "storage/auth/command_words.h"
#include "storage/gcs/gcs_oauth.h"
#include "storage/gcs/gcs_subject_token.h"

namespace assay::storage {
namespace {

constexpr double kDefaultMillis = 30'000;
constexpr double kLeastMillis = 5'000;
constexpr double kMostMillis = 120'000;
constexpr int kVersion = 1;
constexpr char kJwt[] = "urn:ietf:params:oauth:token-type:jwt";
constexpr char kIdToken[] = "urn:ietf:params:oauth:token-type:id_token";
constexpr char kSaml[] = "urn:ietf:params:oauth:token-type:saml2";

double NumberOr(const nlohmann::json& json, const char* name, double otherwise) {
  const auto found = json.find(name);
  return found != json.end() && found->is_number() ? found->get<double>() : otherwise;
}

/// The token of an answer: InvalidArgument where it is not of the form, PermissionDenied where it has none to give.
Result<std::string> TokenOfAnswer(const nlohmann::json& answer, double now, const std::string& what) {
  const auto success = answer.is_object() ? answer.find("success") : answer.end();
  if (!answer.is_object() || success == answer.end() || !success->is_boolean() || NumberOr(answer, "version", 0) < 1) {
    return Status::InvalidArgument(what + " is no JSON object with version and success");
  }
  if (NumberOr(answer, "version", 0) > kVersion) {
    return Status::PermissionDenied(what + " has a version above 1, which is not supported");
  }
  if (!success->get<bool>()) {
    return Status::PermissionDenied(fmt::format(
        "{} says: {}", what, OneLine(OptionalText(answer, "code") + ", " + OptionalText(answer, "message"))));
  }
  if (NumberOr(answer, "expiration_time", now) < now) {
    return Status::PermissionDenied(what + " holds a token that has expired");
  }
  const std::string type = OptionalText(answer, "token_type");
  const bool oidc = type == kJwt || type == kIdToken;
  if (!oidc && type != kSaml) {
    return Status::PermissionDenied(what + " has no token_type of OIDC or SAML");
  }
  const char* const field = oidc ? "id_token" : "saml_response";
  const std::string token = OptionalText(answer, field);
  return token.empty() ? Result<std::string>(Status::InvalidArgument(what + " lacks '" + field + "'")) : token;
}

/// What the program is told of what it is for.
std::map<std::string, std::string> Told(const nlohmann::json& json, const std::string& output_file) {
  const std::string impersonate = OptionalText(json, "service_account_impersonation_url");
  std::string email;
  if (const size_t end = impersonate.find(":generateAccessToken"); end != std::string::npos) {
    const size_t begin = impersonate.rfind('/') + 1;
    email = impersonate.substr(begin, end - begin);
  }
  std::map<std::string, std::string> told = {
      {"GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE", OptionalText(json, "audience")},
      {"GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE", OptionalText(json, "subject_token_type")},
      {"GOOGLE_EXTERNAL_ACCOUNT_ID", email},
      {"GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE", "0"},
      {"GOOGLE_EXTERNAL_ACCOUNT_REVOKE", "0"}};
  if (!impersonate.empty()) {
    told["GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL"] = email;
  }
  if (!output_file.empty()) {
    told["GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE"] = output_file;
  }
  return told;
}

/// The program's standard output.
Result<std::string> Run(std::vector<std::string> words, std::map<std::string, std::string> told, double seconds,
                        const std::string& what) {
  std::string output;
  Subprocess* running = nullptr;
  bool late = false;
  const double until = MonotonicSeconds() + seconds;
  SubprocessOptions options;
  options.argv = std::move(words);
  options.environment = std::move(told);
  options.on_stdout_line = [&output](std::string_view line) { output.append(line) += '\n'; };
  options.on_tick = [&] {
    if (!late && running != nullptr && MonotonicSeconds() > until) {
      late = true;
      running->Kill(SIGKILL);
    }
  };
  ASSAY_ASSIGN_OR_RETURN(Subprocess child, Subprocess::Start(std::move(options)));
  running = &child;
  ASSAY_ASSIGN_OR_RETURN(const ProcessEnd end, child.Wait());
  if (late) {
    return Status::PermissionDenied(fmt::format("{} did not end within {} s and was killed", what, seconds));
  }
  if (!end.exited || end.exit_code != 0) {
    return Status::PermissionDenied(what + " ended with " + end.Describe() + " (run it by hand to see why)");
  }
  return output;
}

/// Of the file that an earlier run left; PermissionDenied where it is of no use any more.
Result<std::string> TokenOfFile(const std::string& file, double now, bool must_say_when) {
  const Result<std::string> text = ReadFile(file);
  const nlohmann::json answer =
      nlohmann::json::parse(text.ok() ? *text : std::string(), nullptr, /*allow_exceptions=*/false);
  if (answer.is_discarded()) {
    return Status::PermissionDenied("the output_file " + file + " holds no JSON");
  }
  if (must_say_when && answer.is_object() && answer.value("success", nlohmann::json()) == true &&
      !answer.contains("expiration_time")) {
    return Status::PermissionDenied("the output_file " + file + " does not say when its token expires");
  }
  return TokenOfAnswer(answer, now, "the output_file " + file);
}

}  // namespace

Result<std::string> ExecutableSubjectToken(const Environment& environment, const nlohmann::json& json,
                                           const std::string& path) {
  const nlohmann::json& source = json["credential_source"]["executable"];
  const std::string what = "the executable of " + path;
  if (environment.variable("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES") != "1") {
    return Status::PermissionDenied(
        what + " is not allowed to run (set GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES to 1 where you trust that file)");
  }
  const double millis = source.contains("timeout_millis") ? NumberOr(source, "timeout_millis", 0) : kDefaultMillis;
  auto words = SplitCommand(OptionalText(source, "command"));
  if (!words || words->empty() || millis < kLeastMillis || millis > kMostMillis) {
    return Status::InvalidArgument(what + " needs a command, and a timeout_millis of 5000 to 120000 if any");
  }
  const std::string file = OptionalText(source, "output_file");
  if (!file.empty()) {
    Result<std::string> kept = TokenOfFile(file, environment.now(), /*must_say_when=*/true);
    if (kept.ok() || kept.status().code() == ErrorCode::kInvalidArgument) {
      return kept;
    }
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string output, Run(*std::move(words), Told(json, file), millis / 1000, what));
  if (output.empty() && !file.empty()) {
    return TokenOfFile(file, environment.now(), /*must_say_when=*/false);
  }
  const nlohmann::json answer = nlohmann::json::parse(output, nullptr, /*allow_exceptions=*/false);
  return TokenOfAnswer(answer, environment.now(), "the output of " + what);
}

}  // namespace assay::storage
