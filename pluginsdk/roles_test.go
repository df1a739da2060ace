package pluginsdk

func runRole(string) {}
