"""What classifiers over tokens share: settings, networks, phases, files."""
