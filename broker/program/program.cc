#include "broker/program/program.h"

#include <CLI/CLI.hpp>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <optional>

#include "absl/strings/str_replace.h"
#include "broker/program/client_flags.h"
#include "broker/program/command.h"
#include "broker/program/store_flags.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"

namespace hourglass {
namespace {

constexpr char kDescription[] =
    "Hourglass keeps messages that must be delivered later.";
constexpr char kFooter[] =
    R"(Examples:
  echo '{"body":"hello","delay":"3s"}' | hourglass pipe --data /tmp/d --until-empty
  hourglass list --data /tmp/d
  hourglass pipe --help

Every flag may also stand in the environment (HOURGLASS_DATA=/tmp/d) or in a
TOML file (hourglass pipe --config hourglass.toml).

Exit codes: 0 all is well; 1 some input was refused, or damage was found;
2 could not run.)";

std::string EnvironmentName(const CLI::App& command,
                            const CLI::Option& option) {
  const bool shared = option.get_group() == kStoreGroup ||
                      option.get_group() == kLimitsGroup ||
                      option.get_group() == kServerGroup;
  std::string name =
      Concat("HOURGLASS_", shared ? "" : Concat(command.get_name(), "_"),
             option.get_single_name());
  for (char& c : name) {
    c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
  }
  return name;
}

// Gives every flag of the command its environment variable.
void NameEnvironment(CLI::App* command) {
  for (CLI::Option* option : command->get_options()) {
    if (option->get_lnames().empty() || !option->get_configurable()) continue;
    option->envname(EnvironmentName(*command, *option));
  }
}

// A TOML file for all commands: what stands at the top is for the command
// that runs, if it has such a flag. The environment wins over the file.
class SharedConfig : public CLI::ConfigTOML {
 public:
  explicit SharedConfig(const CLI::App* app) : app_(app) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::vector<CLI::ConfigItem> kept;
    const auto running = app_->get_subcommands();
    if (running.empty()) return kept;
    for (CLI::ConfigItem& item : CLI::ConfigTOML::from_config(input)) {
      if (item.name == "++" || item.name == "--") continue;  // sections
      const CLI::App* command = Owner(item, running.front());
      if (command == nullptr) throw CLI::ConfigError::Extras(item.fullname());
      if (command != running.front() || InEnvironment(*command, item.name)) {
        continue;
      }
      item.parents = {command->get_name()};
      kept.push_back(std::move(item));
    }
    return kept;
  }

 private:
  static bool Has(const CLI::App& command, const std::string& name) {
    const CLI::Option* option = command.get_option_no_throw("--" + name);
    return option != nullptr && option->get_configurable();
  }

  // The command whose flag `item` is; the running one if it has it.
  const CLI::App* Owner(const CLI::ConfigItem& item,
                        const CLI::App* running) const {
    const bool any = item.parents.empty();
    if (any && Has(*running, item.name)) return running;
    for (const CLI::App* command : app_->get_subcommands(nullptr)) {
      if ((any || command->get_name() == item.parents.front()) &&
          Has(*command, item.name)) {
        return command;
      }
    }
    return nullptr;
  }

  static bool InEnvironment(const CLI::App& command, const std::string& name) {
    const std::string variable =
        command.get_option_no_throw("--" + name)->get_envname();
    const char* value = std::getenv(variable.c_str());
    return value != nullptr && *value != '\0';
  }

  const CLI::App* const app_;
};

void Declare(CLI::App* app,
             const std::vector<std::unique_ptr<Command>>& commands) {
  app->name("hourglass");
  app->footer(kFooter);
  app->require_subcommand(1);
  app->set_version_flag("--version", "hourglass " HOURGLASS_VERSION);
  const char* config = std::getenv("HOURGLASS_CONFIG");
  const bool given = config != nullptr && *config != '\0';
  app->set_config("--config", given ? config : "",
                  "TOML file with the same names as the flags", given)
      ->type_name("FILE");
  app->config_formatter(std::make_shared<SharedConfig>(app));
  for (const auto& command : commands) {
    CLI::App* subcommand = app->add_subcommand(std::string(command->name()));
    subcommand->fallthrough();  // --config may stand behind the command
    command->Declare(subcommand);
    NameEnvironment(subcommand);
  }
}

// CLI11's messages may have several lines; ours have one.
std::string OneLine(std::string_view text) {
  return absl::StrReplaceAll(ToAbsl(text), {{"\n", " "}, {"\t", " "}});
}

// --help and --version end with 0, everything else is a wrong call.
int Answer(const CLI::App& app, const CLI::ParseError& error,
           const Console& console) {
  if (error.get_exit_code() == 0) {
    std::ostringstream out, err;
    app.exit(error, out, err);
    return console.out->Write(out.str()).ok() ? kExitOk : kExitFailed;
  }
  const auto running = app.get_subcommands();
  const std::string command =
      running.empty() ? "" : Concat(running.front()->get_name(), " ");
  Diagnostics(console.err)
      .Say(Concat("hourglass: ", OneLine(error.what()), "; see hourglass ",
                  command, "--help"));
  return kExitFailed;
}

// A first word that is no flag and no command; CLI11 would only say that a
// command is missing.
std::optional<std::string> UnknownCommand(
    const std::vector<std::string>& arguments,
    const std::vector<std::unique_ptr<Command>>& commands) {
  if (arguments.empty() || arguments[0].starts_with("-")) return std::nullopt;
  std::string names;
  for (const auto& command : commands) {
    if (command->name() == arguments[0]) return std::nullopt;
    Append(&names, names.empty() ? "" : ", ", command->name());
  }
  return Concat("hourglass: ", Quoted(arguments[0]),
                " is not a command; expected one of ", names);
}

}  // namespace

int RunProgram(const std::vector<std::string>& arguments,
               const Console& console) {
  const auto commands = MakeCommands();
  if (const auto unknown = UnknownCommand(arguments, commands)) {
    Diagnostics(console.err).Say(*unknown);
    return kExitFailed;
  }
  CLI::App app(kDescription);
  Declare(&app, commands);
  try {
    // CLI11 takes them from the back.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    return Answer(app, error, console);
  }
  for (const auto& command : commands) {
    if (app.got_subcommand(std::string(command->name()))) {
      return command->Run(console);
    }
  }
  return kExitFailed;  // require_subcommand(1) leaves no way here
}

}  // namespace hourglass
