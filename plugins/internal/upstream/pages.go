package upstream

// pageRoutes are the web pages below [PagesPath].
func pageRoutes() []route { return nil }
